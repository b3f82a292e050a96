"""What every template may name."""

from django.conf import settings
from django.http import HttpRequest


def product(request: HttpRequest) -> dict[str, object]:
    """The product's name, and whether the provider is the sandbox."""
    return {"product_name": settings.PRODUCT_NAME, "sandbox": settings.SANDBOX}
