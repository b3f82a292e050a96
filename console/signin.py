"""Sign-in: accounts are given by an administrator, nobody makes one of their own."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class ClosedAdapter(DefaultAccountAdapter):
    """allauth's adapter with sign-up closed."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Never."""
        return False
