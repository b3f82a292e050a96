"""What surrounds every page of a tenant: top bar, navigation, the person's own menu."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from console.formats import Formats
from console.people import ROLES, Seat
from console.queries import queue

THEMES = (("system", "System"), ("light", "Light"), ("dark", "Dark"))
DENSITIES = (("normal", "Normal"), ("compact", "Compact"))


@dataclass(frozen=True, slots=True)
class Choice:
    """One button of a group; `pressed` is the attribute's value."""

    value: str
    title: str
    pressed: str


@dataclass(frozen=True, slots=True)
class NavItem:
    """One link of the navigation. `count` is text, empty where there is nothing to count."""

    title: str
    url: str
    icon: str
    current: bool
    count: str = ""


@dataclass(frozen=True, slots=True)
class NavGroup:
    """A heading of the navigation and its links."""

    title: str
    items: tuple[NavItem, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that `console/frame.html` names."""

    home: str
    search: str
    sought: str
    here: str
    keys: str
    theme: str
    density: str
    zone: str
    zone_name: str
    clock: str
    utc: str
    iso: str
    tenant: str
    environment: str
    striped: bool
    person: str
    initials: str
    roles: str
    themes: tuple[Choice, ...]
    densities: tuple[Choice, ...]
    nav: tuple[NavGroup, ...]


def of(
    account: Any,
    *,
    seat: Seat,
    formats: Formats,
    here: str,
    keys: str,
    unknown: int,
    sought: str = "",
) -> Frame:
    """The frame of one page. `keys` names the page's set of shortcuts, "" where it has none."""
    slug, iso = seat.slug, formats.now.isoformat(timespec="milliseconds")
    in_utc = formats.zone_name == "UTC"
    name = seat.person_name or account.username
    return Frame(
        home=reverse("queue", args=[slug]),
        search=reverse("search", args=[slug]),
        sought=sought,
        here=here,
        keys=keys,
        theme="" if account.theme == "system" else account.theme,
        density="" if account.density == "normal" else account.density,
        zone=formats.zone.key,
        zone_name=formats.zone_name,
        clock=f"{formats.now.astimezone(formats.zone):%H:%M:%S}",
        utc="" if in_utc else f"{formats.now:%H:%M}",
        iso=iso,
        tenant=seat.tenant_name,
        environment=seat.environment.upper(),
        striped=seat.environment not in ("prod", "production"),
        person=name,
        initials=initials(name),
        roles=roles(seat.permissions),
        themes=choices(THEMES, current=account.theme),
        densities=choices(DENSITIES, current=account.density),
        nav=_nav(slug, here, counted(unknown)) if seat.may("view") else (),
    )


def counted(number: int) -> str:
    """A count as shown: exact up to 10,000, then `10,000+`; nothing for none."""
    return f"{queue.MOST:,}+" if number > queue.MOST else f"{number:,}" if number else ""


def initials(name: str) -> str:
    """The first letters of the first and the last word of a name."""
    words = [word for word in name.split() if word]
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper() or "?"


def roles(permissions: Iterable[str]) -> str:
    """The roles that these permissions amount to, in words."""
    held = frozenset(permissions)
    found = [name for name, needed in ROLES.items() if needed <= held]
    if len(found) > 1 and "viewer" in found:
        found.remove("viewer")
    return ", ".join(name.replace("_", " ") for name in found) or "no whole role"


def choices(options: tuple[tuple[str, str], ...], *, current: str) -> tuple[Choice, ...]:
    """Buttons of a group, the current one pressed."""
    return tuple(
        Choice(value, title, "true" if value == current else "false") for value, title in options
    )


def _nav(slug: str, here: str, unknown: str) -> tuple[NavGroup, ...]:
    places = (
        ("Work", "Queue", "queue", "queue", unknown),
        ("Record", "All effects", "effects", "hist", ""),
        ("Oversight", "Providers", "providers", "plug", ""),
    )
    groups = []
    for heading, title, name, icon, count in places:
        url = reverse(name, args=[slug])
        item = NavItem(title, url, icon, here.split("?", maxsplit=1)[0] == url, count)
        groups.append(NavGroup(heading, (item,)))
    return tuple(groups)


@dataclass(frozen=True, slots=True)
class Plain:
    """What a page outside any tenant needs of the frame."""

    theme: str
    density: str
    person: str


def plain(account: Any) -> Plain:
    """The frame of a page outside any tenant."""
    return Plain(
        theme="" if account.theme == "system" else account.theme,
        density="" if account.density == "normal" else account.density,
        person=account.username,
    )
