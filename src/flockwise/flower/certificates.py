"""Certificates and node keys of a deployment, made fresh and readable by their owner alone."""

import datetime
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAYS = 30  # a deployment for trying does not need long-lived secrets
_HERE = ("localhost", "127.0.0.1")  # by which the SuperLink is known on its own machine


def make_certificates(folder: Path, names: Sequence[str] = (), days: int = _DAYS) -> None:
    """`ca.crt`, and `server.pem` with `server.key` for this machine and these names; the CA's key is not kept."""
    authority, server = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Flockwise deployment")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    known = x509.SubjectAlternativeName([_named(name) for name in dict.fromkeys((*_HERE, *names))])
    root = (
        _builder(issuer, issuer, authority.public_key(), authority, days)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority, hashes.SHA384())
    )
    leaf = (
        _builder(subject, issuer, server.public_key(), authority, days)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(known, critical=False)
        .add_extension(x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .sign(authority, hashes.SHA384())
    )
    pem = serialization.Encoding.PEM
    write_secret(folder / "ca.crt", root.public_bytes(pem))
    write_secret(folder / "server.pem", leaf.public_bytes(pem))
    plain = serialization.NoEncryption()
    write_secret(folder / "server.key", server.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def make_node_key(path: Path) -> None:
    """A key pair as ssh-keygen makes it: the private key at `path`, the public one beside it in `.pub`."""
    key = ec.generate_private_key(ec.SECP384R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    write_secret(path, private)
    write_secret(path.with_name(path.name + ".pub"), public + b"\n")


def write_secret(path: Path, content: bytes) -> None:
    """A new file that only its owner can read; an existing one is never overwritten."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
        handle.write(content)


def _named(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, signer: ec.EllipticCurvePrivateKey,
    days: int,
) -> x509.CertificateBuilder:  # fmt: skip
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True, key_cert_sign=signs_certificates, crl_sign=signs_certificates,
        content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
