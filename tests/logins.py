"""Taking the part of a database login inside a test.

The alias `default` is the owner's connection and, in tests only, a superuser's. That lets a test
become any login for a while:

    with login("web"):
        ...                     # session_user is ascertain_web; its grants and row security hold

It holds for every statement on `default` in this thread, Django's and psycopg's, across commits and
rollbacks. A `with` inside another one is refused: a login cannot become another.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psycopg.pq import TransactionStatus

from console.logins import OWNER, role


@contextmanager
def login(name: str) -> Iterator[None]:
    """Run the block as the login `name` ("web", "worker", …); afterwards be the owner again.

    Raises RuntimeError inside another `login`, and ValueError for a name that is no login.
    """
    if (before := session_user()) != role(OWNER):
        raise RuntimeError(f"already {before}; leave that block first")
    inside_transaction = connection.in_atomic_block
    with connection.cursor() as cursor:
        cursor.execute(f"set session authorization {role(name)}")
    try:
        yield
    finally:
        be_owner_again(inside_transaction=inside_transaction)


def session_user() -> str:
    """The role that the server takes us for."""
    with connection.cursor() as cursor:
        cursor.execute("select session_user")
        return str(cursor.fetchone()[0])


def be_owner_again(*, inside_transaction: bool) -> None:
    """Give the login back, so that the next test does not run as somebody else.

    In a failed transaction RESET is refused. If the login was taken inside it, rolling back gives
    it back; else the connection is dropped.
    """
    if connection.connection is None or connection.connection.closed:
        return
    failed = connection.connection.info.transaction_status == TransactionStatus.INERROR
    if failed and inside_transaction:
        return
    if failed:
        connection.close()
        return
    with connection.connection.cursor() as cursor:
        cursor.execute("reset session authorization")
