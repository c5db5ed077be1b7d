"""The key file of backups: the tree of keys, sealed with a master key, beside the store and never in a backup.

It is written anew only when something is forgotten or restored: to a temporary name, onto the disk, then renamed, and
what stood there before is overwritten as far as the file system lets it be. So a copy of it reads backups that are made
later, and should be replaced whenever something is forgotten, since an old one still reads that. It keeps the
tombstones too, so that a restore of an older backup can forget again.
"""

import os
import threading
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from graph.owner_keys import KEY_BYTES, OwnerKeys
from graph.ports import Randomness
from graph.sealing import NONCE_BYTES
from graph.tombstones import read_tombstone, tombstone_row
from ontology.errors import Incorrect, NotFound, Unavailable, Unsupported, shown
from ontology.ids import is_recorded
from ontology.scope import Tenant
from ontology.tombstones import Tombstone

FORMAT: Final = "vigencia-backup-keys"
FORMAT_VERSION: Final = 1
_OWNER_ONLY: Final = 0o600
_MAKE_MASTER: Final = "make one with `openssl rand -hex 32` and keep it apart from backups; VIGENCIA_MASTER_KEY_FILE"
_BOUND: Final = f"{FORMAT} {FORMAT_VERSION}".encode()
_COPY: Final = "give the newest copy of it; without it no backup can be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The keys of some backups, with the name by which these know them."""

    name: str
    keys: OwnerKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class Grave:
    """A tombstone, and what its marks are made with: enough to forget again what an old backup brings back."""

    stone: Tombstone
    secret: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRing:
    """What a key file holds."""

    trees: tuple[Tree, ...]
    """The newest last. Each restore begins another, since ids are given anew from where the backup ends: what gets
    that of somebody who was forgotten must have a key."""
    graves: Mapping[Tenant, tuple[Grave, ...]]

    @property
    def newest(self) -> Tree:
        """The tree that new backups take."""
        return self.trees[-1]

    def tombstones(self, tenant: Tenant) -> list[tuple[Tombstone, bytes]]:
        """What a tenant has forgotten, each with the secret of its marks."""
        return [(grave.stone, grave.secret) for grave in self.graves.get(tenant, ())]

    def tree(self, name: str) -> Tree:
        """The one that a backup names. Raises `Incorrect`."""
        for tree in self.trees:
            if tree.name == name:
                return tree
        there = ", ".join(tree.name for tree in self.trees)
        told = f"the backup was sealed with the keys {shown(name)}, and the key file has {there}"
        raise Incorrect(told, remedy="give its key file with VIGENCIA_BACKUP_KEYS")


class KeyFile:
    """The keys in the file at `path`. Safe to use from many threads and processes of one machine."""

    def __init__(self, path: Path, master: Path, randomness: Randomness) -> None:
        """`master` is the file of the master key: 32 bytes in hexadecimal."""
        self.path = path
        self._master = master
        self._randomness = randomness
        self._lock = threading.Lock()
        self._told: tuple[object, frozenset[tuple[Tenant, str]]] = None, frozenset()
        """Which tombstones a certain file has, by their manifests: to tell of each again shall cost little."""

    def exists(self) -> bool:
        return self.path.is_file()

    def read(self) -> KeyRing:
        """Raises `NotFound` where there is none, `Incorrect` where the master key is another or either is damaged."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"there is no key file {shown(str(self.path), 400)}", remedy=_COPY) from None
        except OSError as exc:
            raise Unavailable(f"the key file {shown(str(self.path), 400)} cannot be read: {exc.strerror}") from exc
        return self._opened(content)

    def read_or_make(self) -> KeyRing:
        """The keys; new ones where there is no file yet."""
        with self._locked():
            if self.exists():
                return self.read()
            ring = KeyRing(trees=(self._new_tree(),), graves={})
            self._write(ring)
            return ring

    def begin_tree(self) -> None:
        """Let backups from now on take keys of their own."""
        with self._locked():
            ring = self.read()
            self._write(replace(ring, trees=(*ring.trees, self._new_tree())))

    def forget(self, tenant: Tenant, tombstone: Tombstone, secret: bytes) -> None:
        """Let nobody read any more what any backup has of it; told again, also of one that a restore
        made anew and that has the same manifest, it changes nothing.

        Nothing is left of what was destroyed; episodes that lost their words have another key from now on, under which
        what is left of them goes into the next backup. Where there is no key file there is no backup, and nothing to
        do. The file is on the disk when this returns.
        """
        with self._locked():
            if not self.exists():
                return
            if self._knows(tenant, tombstone):
                return
            ring = self.read()
            known = ring.graves.get(tenant, ())
            emptied = [owner for owner in tombstone.restated if is_recorded(owner)]
            trees = [
                replace(tree, keys=tree.keys.without(tenant, tombstone.destroyed).renewed(tenant, emptied))
                for tree in ring.trees
            ]
            grave = Grave(stone=tombstone, secret=secret)
            self._write(KeyRing(trees=tuple(trees), graves={**ring.graves, tenant: (*known, grave)}))

    def _knows(self, tenant: Tenant, tombstone: Tombstone) -> bool:
        found = self.path.stat()
        file = found.st_ino, found.st_mtime_ns, found.st_size
        if self._told[0] != file:
            graves = self.read().graves
            told = frozenset((of, grave.stone.manifest) for of, each in graves.items() for grave in each)
            self._told = file, told
        return (tenant, tombstone.manifest) in self._told[1]

    def _new_tree(self) -> Tree:
        return Tree(name=self._randomness.bytes(8).hex(), keys=OwnerKeys({"": self._randomness.bytes(KEY_BYTES)}))

    def _opened(self, content: bytes) -> KeyRing:
        name = shown(str(self.path), 400)
        try:
            document: Any = orjson.loads(content)
            if document["format"] != FORMAT:
                raise Unsupported(f"{name} is no key file of backups; VIGENCIA_BACKUP_KEYS names another file")
            if document["version"] != FORMAT_VERSION:
                raise Unsupported(f"the key file {name} is of version {shown(document['version'])}")
            raw = b64decode(document["sealed"], validate=True)
        except (KeyError, TypeError, ValueError) as exc:
            raise Incorrect(f"the key file {name} is damaged", remedy=_COPY) from exc
        try:
            plain = AESGCM(self._master_key()).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _BOUND)
        except (InvalidTag, ValueError) as exc:
            master = shown(str(self._master), 400)
            raise Incorrect(
                f"the master key in {master} does not open the key file {name}: it is another one, or the file is "
                "damaged",
                remedy="give the master key with which the key file was made",
            ) from exc
        return _read_ring(orjson.loads(zlib.decompress(plain)))

    def _write(self, ring: KeyRing) -> None:
        plain = zlib.compress(orjson.dumps(_ring_document(ring)))
        nonce = self._randomness.bytes(NONCE_BYTES)
        sealed = nonce + AESGCM(self._master_key()).encrypt(nonce, plain, _BOUND)
        document = {"format": FORMAT, "version": FORMAT_VERSION, "sealed": b64encode(sealed).decode()}
        try:
            _replace(self.path, orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
        except OSError as exc:
            name = shown(str(self.path), 400)
            raise Unavailable(f"the key file {name} cannot be written: {exc.strerror}; it is as it was") from exc

    def _master_key(self) -> bytes:
        name = shown(str(self._master), 400)
        try:
            key = bytes.fromhex(self._master.read_text(encoding="ascii").strip())
        except FileNotFoundError:
            raise NotFound(f"there is no master key file {name}", remedy=_MAKE_MASTER) from None
        except OSError as exc:
            raise Unavailable(f"the master key file {name} cannot be read: {exc.strerror}") from exc
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            raise Incorrect(f"{name} holds no master key: it is 64 hexadecimal digits", remedy=_MAKE_MASTER)
        return key

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """One writer at a time, of all processes: each reads what the one before wrote."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        with self._lock:
            try:
                handle = os.open(lock, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
            except OSError as exc:
                name = shown(str(lock), 400)
                raise Unavailable(f"the lock {name} of the key file cannot be made: {exc.strerror}") from exc
            try:
                _lock_file(handle)
                yield
            finally:
                os.close(handle)


def _lock_file(handle: int) -> None:
    """Wait for the lock, which ends with the handle."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; there the threads of one process wait for each other
        return
    fcntl.flock(handle, fcntl.LOCK_EX)


def _replace(path: Path, content: bytes) -> None:
    """Let `path` have this content, all of it or as before, and overwrite what it had."""
    part = path.with_name(f"{path.name}.part")
    before = _open_to_overwrite(path)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
        _sync_folder(path.parent)
        if before is not None:
            _overwrite(before)
    finally:
        part.unlink(missing_ok=True)
        if before is not None:
            os.close(before)


def _open_to_overwrite(path: Path) -> int | None:
    try:
        return os.open(path, os.O_WRONLY)
    except FileNotFoundError:
        return None


def _overwrite(handle: int) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, bytes(os.fstat(handle).st_size))
    os.fsync(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _ring_document(ring: KeyRing) -> dict[str, object]:
    return {
        "trees": [(tree.name, {path: node.hex() for path, node in tree.keys.nodes.items()}) for tree in ring.trees],
        "graves": {tenant: [_grave_row(grave) for grave in graves] for tenant, graves in ring.graves.items()},
    }


def _read_ring(document: Any) -> KeyRing:
    return KeyRing(
        trees=tuple(
            Tree(name=name, keys=OwnerKeys({path: bytes.fromhex(node) for path, node in nodes.items()}))
            for name, nodes in document["trees"]
        ),
        graves={
            Tenant(tenant): tuple(_read_grave(Tenant(tenant), *row) for row in rows)
            for tenant, rows in document["graves"].items()
        },
    )


def _grave_row(grave: Grave) -> tuple[object, ...]:
    stone = grave.stone
    return tombstone_row(stone), (stone.actor, stone.position, stone.recorded_at), grave.secret.hex()


def _read_grave(tenant: Tenant, row: list[Any], made: list[Any], secret: str) -> Grave:
    actor, position, recorded_at = made
    stone = read_tombstone(row, tenant, (actor, position, recorded_at), None)
    return Grave(stone=stone, secret=bytes.fromhex(secret))
