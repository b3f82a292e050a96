"""Tells one scene step by step while it happens: the order, the kill, and where it ends."""

import time
from collections.abc import Callable

from console import faults
from console.demo.killing import NotKilled
from console.demo.sandbox import Sandbox, sandbox
from console.demo.scenes import Scene
from console.demo.staging import Played, is_held, kill_after_accept, play
from ledger import access
from ledger.ids import screen_id
from ledger.models import Entry, Tenant
from ledger.rules.money import format_money
from ledger.rules.states import TERMINAL, State

LONGEST_SECONDS = 90
POLL_SECONDS = 0.1
Say = Callable[[str], object]

WHERE = {
    "before-dispatch": "before it claimed the effect, so nothing was sent",
    "after-mark": "after the dispatch mark was committed, before a byte was sent",
    "after-accept": "after the provider had accepted, before its answer arrived",
    "after-response": "after the answer had arrived, before it was recorded",
    "during-receipt": "inside the transaction that records the receipt, before its commit",
}


def tell(scene: Scene, *, tenant: Tenant, say: Say) -> bool:
    """Play `scene` and say what happens; False where it did not come to rest in time."""
    at = sandbox()
    played = play(scene, tenant=tenant, sandbox=at)
    _say_start(played, say)
    until = time.monotonic() + LONGEST_SECONDS
    told = _kill(played, at, say, until=until) and _follow(played, say, until=until)
    log = at.creates(played.intent_key, tenant=str(tenant.id))
    effects = at.effects(played.intent_key, tenant=str(tenant.id))
    happened = [effect["id"] for effect in effects if effect["took_effect"]]
    say(f"Provider's log: {len(log)} create requests, {len(happened)} effects {happened}.")
    say(f"Provider's page: {at.page(played.intent_key, tenant=str(tenant.id))}")
    say(f"Case: {played.case_url}")
    return told


def _say_start(played: Played, say: Say) -> None:
    effect = played.effect()
    amount = effect.amount_minor
    money = f" over {format_money(amount, effect.currency)}" if amount is not None else ""
    say(f"Order {played.scene.ref} of {played.tenant.name}, flow {played.scene.flow}{money}.")
    for step in played.order.steps.order_by("created_at"):
        waits = "; its intent was prepared in the same commit" if step.effect_id else ""
        say(f"  step {step.name}, runs: {step.runs}{waits}")
    say(f"Effect: {screen_id(played.effect_id)}")
    say(f"Intent key: {played.intent_key}")


def _kill(played: Played, at: Sandbox, say: Say, *, until: float) -> bool:
    """Wait for the kill that was armed; for after-accept, do it."""
    kill = played.scene.kill
    if kill == "none":
        return True
    pid = ""
    if kill == "after-accept":
        if not _wait(lambda: is_held(played, sandbox=at), until=until):
            say("The request did not reach the provider in time. Does the worker run?")
            return False
        try:
            pid = f" {kill_after_accept(played, sandbox=at)}"
        except NotKilled as reason:
            say(str(reason))
            return False
    elif not _wait(lambda: not faults.armed(kill, intent_key=played.intent_key), until=until):
        faults.disarm(kill, intent_key=played.intent_key)
        say("No worker came to the place where it was to be killed. Does the worker run?")
        return False
    say(f"Killed worker process{pid} with SIGKILL {WHERE[kill]}.")
    return True


def _follow(played: Played, say: Say, *, until: float) -> bool:
    """Say each state as it comes, up to the first in which the effect rests."""
    resting = TERMINAL | {State.UNKNOWN}
    shown = 0
    while True:
        access.enter(played.tenant.id)
        entries = Entry.objects.filter(
            tenant_id=played.tenant.id, effect_id=played.effect_id, no__gt=shown
        )
        for entry in entries.order_by("no"):
            shown, state = entry.no, State(entry.to_state)
            say(f"  E{entry.no} {entry.at:%H:%M:%S} {state.word}: {_words(entry)}")
        if shown and state in resting:
            break
        if time.monotonic() > until:
            say(f"It is still {state.word} after {LONGEST_SECONDS} s. The case shows what follows.")
            return False
        time.sleep(POLL_SECONDS)
    return True


def _words(entry: Entry) -> str:
    note = f", {entry.note}" if entry.note else ""
    return f"{entry.kind.replace('_', ' ')} by {entry.actor}{note}"


def _wait(condition: Callable[[], bool], *, until: float) -> bool:
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_SECONDS)
    return True
