"""Does a request come from this machine? Only then is it answered while there are no credentials.

By loopback names alone, so that a web page that points a name of its own at 127.0.0.1 gets nothing (DNS rebinding).
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from api.auth.principals import ForeignOrigin, Headers
from ontology.errors import shown


def foreign_caller(client: str | None, headers: Headers) -> ForeignOrigin | None:
    """Why a caller without a key is not on this machine; `None` if it is."""
    if client is None or not is_loopback(client):
        return ForeignOrigin(detail="without keys only this machine is answered")
    host = headers.get(b"host", b"").decode("latin-1")
    if not is_loopback(_host_name(host)):
        return ForeignOrigin(detail=f"the Host {shown(host)} is not a loopback name")
    for name in (b"origin", b"referer"):
        given = headers.get(name)
        if given is not None and not is_loopback(_origin_name(given.decode("latin-1"))):
            return ForeignOrigin(detail=f"the {name.decode().title()} {shown(given.decode('latin-1'))} is another site")
    return None


_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost", "localhost."})


def is_loopback(name: str) -> bool:
    """Whether a host name or an address means this machine by itself."""
    if name in _LOOPBACK:
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name.lower() in _LOOPBACK
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


_HOST: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]]*))(?::[0-9]{1,5})?")


def _host_name(host: str) -> str:
    match = _HOST.fullmatch(host)
    return "" if match is None else match["six"] or match["name"]


def _origin_name(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
