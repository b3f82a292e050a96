"""One REDIS_URL, said the way that Celery and the cache each want to hear it."""

from urllib.parse import quote, unquote, urlsplit, urlunsplit

IN_PROCESS = "memory://"  # no broker told: messages stay in the process, the sweep finds the rows
CACHE_NUMBER = 1  # the broker's messages live in database 0


def broker_url(url: str) -> str:
    """Celery's form: "unix://PATH" becomes "redis+socket://PATH?virtual_host=0"."""
    if not url:
        return IN_PROCESS
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    return f"redis+socket://{parts.path}?virtual_host=0"


def cache_url(url: str) -> str:
    """redis-py's form, on the cache's database. Raises ValueError for a broker that is no Redis."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return f"unix://{parts.path}?db={CACHE_NUMBER}"
    if parts.scheme not in ("redis", "rediss"):
        raise ValueError(f"REDIS_URL must start with redis://, rediss:// or unix://, not {url!r}.")
    return urlunsplit(parts._replace(path=f"/{CACHE_NUMBER}"))


def socket_url(path: str) -> str:
    """The REDIS_URL of a server on a Unix socket."""
    return f"unix://{quote(path)}"


def socket_path(url: str) -> str:
    """The path that socket_url took; empty for a server on the network."""
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "unix" else ""
