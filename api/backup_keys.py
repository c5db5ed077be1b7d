"""The key file of backups: the tree of keys, sealed with a master key, beside the store and never in a backup.

It is written anew only when something is forgotten: to a temporary name, onto the disk, then renamed, and what stood
there before is overwritten as far as the file system lets it be. So a copy of it reads backups that are made later,
and should be replaced whenever something is forgotten, since an old one still reads that.
"""

import os
import threading
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from graph.owner_keys import KEY_BYTES, OwnerKeys
from graph.ports import Randomness
from graph.sealing import NONCE_BYTES
from ontology.errors import Incorrect, NotFound, Unavailable, Unsupported, shown
from ontology.ids import Owner, is_recorded
from ontology.scope import Tenant
from ontology.tombstones import Tombstone

FORMAT: Final = "vigencia-backup-keys"
FORMAT_VERSION: Final = 1
_OWNER_ONLY: Final = 0o600
_MAKE_MASTER: Final = "make one with `openssl rand -hex 32` and keep it apart from backups; VIGENCIA_MASTER_KEY_FILE"
_COPY: Final = "give the newest copy of it; without it no backup can be read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The keys of one store, with the name by which its backups know them."""

    name: str
    keys: OwnerKeys


class KeyFile:
    """The keys in the file at `path`. Safe to use from many threads and processes of one machine."""

    def __init__(self, path: Path, master: Path, randomness: Randomness) -> None:
        """`master` is the file of the master key: 32 bytes in hexadecimal."""
        self.path = path
        self._master = master
        self._randomness = randomness
        self._lock = threading.Lock()

    def exists(self) -> bool:
        return self.path.is_file()

    def read(self) -> Tree:
        """Raises `NotFound` where there is none, `Incorrect` where the master key is another or either is damaged."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            raise NotFound(f"there is no key file {shown(str(self.path), 400)}", remedy=_COPY) from None
        except OSError as exc:
            raise Unavailable(f"the key file {shown(str(self.path), 400)} cannot be read: {exc.strerror}") from exc
        return self._opened(content)

    def read_or_make(self) -> Tree:
        """The keys; new ones where there is no file yet."""
        with self._locked():
            if self.exists():
                return self.read()
            name = self._randomness.bytes(8).hex()
            tree = Tree(name=name, keys=OwnerKeys({"": self._randomness.bytes(KEY_BYTES)}))
            self._write(tree)
            return tree

    def destroy(self, tenant: Tenant, owners: Iterable[Owner]) -> None:
        """Let nobody read any more what any backup has about these owners; those without a key already stay so.

        Where there is no key file there is no backup, and nothing to do. The file is on the disk when this returns.
        """
        with self._locked():
            if not self.exists():
                return
            tree = self.read()
            gone = [owner for owner in owners if tree.keys.generation(tenant, owner) is not None]
            if gone:
                self._write(Tree(name=tree.name, keys=tree.keys.without(tenant, gone)))

    def forget(self, tenant: Tenant, tombstone: Tombstone) -> None:
        """Destroy the keys of all of which nothing is left, and of the episodes that lost their words."""
        emptied = [owner for owner in tombstone.restated if is_recorded(owner)]
        self.destroy(tenant, [*tombstone.destroyed, *emptied])

    def _opened(self, content: bytes) -> Tree:
        name = shown(str(self.path), 400)
        try:
            document: Any = orjson.loads(content)
            if document["format"] != FORMAT:
                raise Unsupported(f"{name} is no key file of backups; VIGENCIA_BACKUP_KEYS names another file")
            if document["version"] != FORMAT_VERSION:
                raise Unsupported(f"the key file {name} is of version {shown(document['version'])}")
            raw = b64decode(document["sealed"], validate=True)
            tree = str(document["keys"])
        except (KeyError, TypeError, ValueError) as exc:
            raise Incorrect(f"the key file {name} is damaged", remedy=_COPY) from exc
        try:
            plain = AESGCM(self._master_key()).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _bound(tree))
        except (InvalidTag, ValueError) as exc:
            master = shown(str(self._master), 400)
            raise Incorrect(
                f"the master key in {master} does not open the key file {name}: it is another one, or the file is "
                "damaged",
                remedy="give the master key with which the key file was made",
            ) from exc
        nodes = orjson.loads(zlib.decompress(plain))
        return Tree(name=tree, keys=OwnerKeys({path: bytes.fromhex(node) for path, node in nodes.items()}))

    def _write(self, tree: Tree) -> None:
        plain = zlib.compress(orjson.dumps({path: node.hex() for path, node in tree.keys.nodes.items()}))
        nonce = self._randomness.bytes(NONCE_BYTES)
        sealed = nonce + AESGCM(self._master_key()).encrypt(nonce, plain, _bound(tree.name))
        document = {"format": FORMAT, "version": FORMAT_VERSION, "keys": tree.name}
        content = orjson.dumps({**document, "sealed": b64encode(sealed).decode()}, option=orjson.OPT_APPEND_NEWLINE)
        try:
            _replace(self.path, content)
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


def _bound(tree: str) -> bytes:
    return orjson.dumps([FORMAT, FORMAT_VERSION, tree])
