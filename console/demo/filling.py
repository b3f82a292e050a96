"""Fills the queues of both sample tenants: plays every scene once, killing workers mid-flight."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import chain, zip_longest

from django.conf import settings

from console.demo import strangers
from console.demo.killing import NotKilled
from console.demo.sandbox import Sandbox, sandbox
from console.demo.scenes import SCENES, Scene
from console.demo.staging import Played, is_held, kill_after_accept, play
from console.processes import die_with_parent
from examples.orders.models import Order
from ledger import access
from ledger.models import OpenEffect, Tenant
from ledger.rules.states import State

LONGEST_SECONDS = 180
POLL_SECONDS = 0.1
Say = Callable[[str], object]


def fill(say: Say) -> int:
    """Play the scenes whose orders do not stand yet, as the login `workflow`; how many.

    It can be stopped at any moment and goes on at the next start.
    """
    at, waiting = sandbox(), _unplayed()
    if waiting:
        say(f"Playing {len(waiting)} orders against the sandbox; this takes about a minute.")
        strangers.play(strangers.known(), sandbox=at)
    played = _play_all(waiting, at, say)
    _have_escalated(say)
    if played:
        say(f"{played} orders were played; the queues fill as their leases and deadlines end.")
    return played


def _unplayed() -> list[tuple[Tenant, Scene]]:
    """What is still to be played, the tenants in turn."""
    tenants = {one.slug: one for one in Tenant.objects.filter(slug__in=SCENES)}
    lists = [
        [(tenant, scene) for scene in SCENES[slug] if not _stands(tenant, scene)]
        for slug, tenant in sorted(tenants.items())
    ]
    return [pair for pair in chain.from_iterable(zip_longest(*lists)) if pair]


def _stands(tenant: Tenant, scene: Scene) -> bool:
    return Order.objects.filter(tenant_id=tenant.id, ref=scene.ref).exists()


def _play_all(waiting: list[tuple[Tenant, Scene]], at: Sandbox, say: Say) -> int:
    """Start the orders one by one, killing whenever the provider holds an answer; how many."""
    played, held = 0, list[Played]()
    until = time.monotonic() + LONGEST_SECONDS
    while (waiting or held) and time.monotonic() < until:
        if waiting:
            tenant, scene = waiting.pop(0)
            one = play(scene, tenant=tenant, sandbox=at)
            played += 1
            held += [one] if scene.kill == "after-accept" else []
        held = [one for one in held if not _killed(one, at, say)]
        time.sleep(POLL_SECONDS)
    return played


def _killed(one: Played, at: Sandbox, say: Say) -> bool:
    """Whether this is over: killed now, or no longer in flight."""
    if not is_held(one, sandbox=at):
        return one.state() not in (State.PREPARED, State.DISPATCHED)
    try:
        pid = kill_after_accept(one, sandbox=at)
        say(f"{one.scene.ref}: killed worker process {pid} after the provider had accepted.")
    except NotKilled as reason:
        say(f"{one.scene.ref}: {reason}")
    return True


def _have_escalated(say: Say) -> None:
    """Have the operator's part done by a process with the login web, once there is something."""
    until = time.monotonic() + LONGEST_SECONDS
    while any(state in (State.PREPARED, State.DISPATCHED) for state in _to_escalate()):
        if time.monotonic() > until:
            say("The cases to escalate did not become unknown in time; they are left as they are.")
            return
        time.sleep(POLL_SECONDS)
    if not _to_escalate():
        return
    command = [sys.executable, str(settings.ROOT / "manage.py"), "seed", "--escalate"]
    environment = {**os.environ, "ASCERTAIN_LOGIN": "web"}
    subprocess.run(command, env=environment, check=True, preexec_fn=die_with_parent(signal.SIGTERM))


def _to_escalate() -> list[State]:
    """Where the effects stand that a scene wants escalated and nobody has."""
    found: list[State] = []
    for tenant in Tenant.objects.filter(slug__in=SCENES):
        access.enter(tenant.id)
        refs = [scene.ref for scene in SCENES[tenant.slug] if scene.escalated_to]
        states = OpenEffect.objects.filter(
            tenant_id=tenant.id, workflow_id__in=refs, escalated_at=None
        ).values_list("state", flat=True)
        found += map(State, states)
    return found
