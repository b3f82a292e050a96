"""The plans that the server really used, from its own log of every statement."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

SETTINGS = {
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_format": "json",
    "client_min_messages": "log",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One statement as it ran: how many buffers it touched, which tables it read whole."""

    statement: str
    buffers: int
    whole: frozenset[str]


@dataclass(slots=True)
class Plans:
    """Every statement of a stretch of work."""

    ran: list[Plan] = field(default_factory=list)

    def hear(self, notice: psycopg.errors.Diagnostic) -> None:
        """Keep the plan that the server logs."""
        said = notice.message_primary or ""
        if said.startswith("duration:") and "plan:" in said:
            told = json.loads(said.split("plan:\n", 1)[1])
            root = told["Plan"]
            buffers = root["Shared Hit Blocks"] + root["Shared Read Blocks"]
            self.ran.append(Plan(told["Query Text"], buffers, frozenset(_whole(root))))

    @property
    def worst(self) -> Plan:
        """The statement that touched most buffers."""
        return max(self.ran, key=lambda plan: plan.buffers)


def _whole(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for inner in node.get("Plans", ()):
        yield from _whole(inner)


@contextmanager
def watched() -> Iterator[Plans]:
    """Every statement on `default` in the block, with its plan; taken as the owner, in no login."""
    plans = Plans()
    connection.ensure_connection()
    driver = connection.connection
    with driver.cursor() as cursor:
        cursor.execute("load 'auto_explain'")
        for name, value in SETTINGS.items():
            cursor.execute(f"set {name} = {value}")
    driver.add_notice_handler(plans.hear)
    try:
        yield plans
    finally:
        driver.remove_notice_handler(plans.hear)
        with driver.cursor() as cursor:
            cursor.execute("set auto_explain.log_min_duration = -1")
            cursor.execute("reset client_min_messages")
