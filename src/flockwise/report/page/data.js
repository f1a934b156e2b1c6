// Reading what the page was given: packed arrays back into numbers.

const MISSING = 255,
  STEPS = 250;
const UNPLACED = -1,
  QUARANTINED = -2,
  CONFIRMED = -3,
  OTHERS = 9999;
const TURNING = ["flocks", "split", "quarantine", "released", "confirmed", "rollback"];

function unpack(packed) {
  if (packed.array) return packed.array;
  const text = atob(packed.data),
    bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const kinds = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };
  packed.array = new kinds[packed.bytes](bytes.buffer);
  return packed.array;
}

// The value behind a quantised code, or null where nothing was measured.
function level(packed, index) {
  const code = unpack(packed)[index];
  return code === MISSING || code === undefined
    ? null
    : packed.low + ((packed.high - packed.low) * code) / STEPS;
}

// Rows of one kind (places, accuracy) by the round they belong to.
function rowAt(rounds, round) {
  let low = 0,
    high = rounds.length - 1,
    found = -1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (rounds[middle] <= round) {
      found = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return found;
}

function clientCount(run) {
  return run.places ? run.places.codes.shape[1] || 0 : (run.clients.name || []).length;
}

function placeAt(run, row, client) {
  return unpack(run.places.codes)[row * run.places.codes.shape[1] + client] + CONFIRMED;
}

function placesAt(run, round) {
  const row = run.places ? rowAt(run.places.rounds, round) : -1;
  return Array.from({ length: clientCount(run) }, (_, i) => (row < 0 ? UNPLACED : placeAt(run, row, i)));
}

function lastPlaces(run) {
  return placesAt(run, Infinity);
}

function accuracyAt(run, row, client) {
  return level(run.accuracy.values, row * run.accuracy.values.shape[1] + client);
}

// Newest measured accuracy of each client; for one that is set apart, of when it was last tested.
function lastAccuracies(run) {
  if (run.accuracy?.latest) return run.accuracy.latest;
  const rows = run.accuracy ? run.accuracy.rounds.length : 0;
  return Array.from({ length: clientCount(run) }, (_, client) => {
    for (let row = rows - 1; row >= Math.max(0, rows - 50); row--) {
      const value = accuracyAt(run, row, client);
      if (value !== null) return value;
    }
    return null;
  });
}

function hasNumbers(values) {
  return (values || []).some((value) => value !== null);
}

function clientName(run, client) {
  const name = (run.clients.name || [])[client];
  return name === undefined || name === null || name === "" ? `client ${client}` : String(name);
}
