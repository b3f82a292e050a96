"""The example as a Django application beside the console."""

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """Orders that collect, pay, lend, refund and write to customers."""

    name = "examples.orders"
    label = "orders"
    verbose_name = "Order workflow"
