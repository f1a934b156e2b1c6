"""Certificates and node keys for a deployment on this machine, made fresh and readable by their owner alone."""

import datetime
import ipaddress
import os
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_DAYS = 30  # a deployment for trying does not need long-lived secrets


def make_certificates(folder: Path, address: str = "127.0.0.1") -> None:
    """`ca.crt`, and `server.pem` with `server.key` for this address and localhost; the CA's key is not kept."""
    authority, server = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Flockwise local deployment")])
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(address))]
    root = (
        _builder(issuer, issuer, authority.public_key(), authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority, hashes.SHA384())
    )
    leaf = (
        _builder(subject, issuer, server.public_key(), authority)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
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


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePrivateKey,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
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
