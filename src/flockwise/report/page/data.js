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

// Rows of one kind (places, scores) by the round they belong to.
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

function scoreAt(run, row, client) {
  return level(run.scores.values, row * run.scores.values.shape[1] + client);
}

// How a score is shaded: 0 the worst, 1 the best of its range.
function goodness(run, value) {
  const { low, high } = run.scores.values,
    share = Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
  return run.score.better === "lower" ? 1 - share : share;
}

// The key of such a shade, from the worst to the best.
function scoreKey(run, words) {
  const { low, high } = run.scores.values;
  return run.score.better === "lower" ? heatKey(high, low, words) : heatKey(low, high, words);
}

// A fact of what models are compared by: the mean over clients, or with a suffix another number of it.
function scoreFact(run, suffix) {
  return run.facts[suffix ? `${run.score.name}_${suffix}` : run.score.name];
}

// Newest measured score of each client; for one that is set apart, of when it was last tested.
function lastScores(run) {
  if (run.scores?.latest) return run.scores.latest;
  const rows = run.scores ? run.scores.rounds.length : 0;
  return Array.from({ length: clientCount(run) }, (_, client) => {
    for (let row = rows - 1; row >= Math.max(0, rows - 50); row--) {
      const value = scoreAt(run, row, client);
      if (value !== null) return value;
    }
    return null;
  });
}

function hasNumbers(values) {
  return (values || []).some((value) => value !== null);
}

// A client's own number, which is its place in the table unless only some clients are shown.
function clientNumber(run, client) {
  return run.clients.number ? run.clients.number[client] : client;
}

// Where in the table a client with this number is; -1 if it is not shown.
function clientOf(run, number) {
  return run.clients.number ? run.clients.number.indexOf(number) : number;
}

// What a client is called, by its number, shown or not.
function numberName(run, number) {
  return run.clients.number ? `client ${number}` : clientName(run, number);
}

function clientName(run, client) {
  const name = (run.clients.name || [])[client];
  return name === undefined || name === null || name === "" ? `client ${client}` : String(name);
}
