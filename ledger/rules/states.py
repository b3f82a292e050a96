"""The six states of an effect, the actors, and the one table of legal edges."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class State(IntEnum):
    """Where an effect stands. The number is what PostgreSQL stores; 0 means not yet born."""

    UNBORN = 0
    PREPARED = 1
    DISPATCHED = 2
    UNKNOWN = 3
    CONFIRMED = 4
    REJECTED = 5
    COMPENSATED = 6

    @property
    def word(self) -> str:
        """The state's name as used in code, API and exports, e.g. `unknown`."""
        return self.name.lower()


TERMINAL = frozenset({State.CONFIRMED, State.REJECTED, State.COMPENSATED})
OPEN = frozenset({State.PREPARED, State.DISPATCHED, State.UNKNOWN})


class Actor(StrEnum):
    """Who moves an effect. PostgreSQL ties each actor to the logins that may act as it."""

    WORKFLOW = "workflow"
    WORKER = "worker"
    REAPER = "reaper"
    RECONCILER = "reconciler"
    INTAKE = "intake"
    OPERATOR = "operator"


class Login(StrEnum):
    """The database logins of the deployment; runtime never connects as the owner."""

    OWNER = "ascertain_owner"
    WEB = "ascertain_web"
    AUTH = "ascertain_auth"
    WORKER = "ascertain_worker"
    WORKFLOW = "ascertain_workflow"
    SEALER = "ascertain_sealer"
    AUDITOR = "ascertain_auditor"


class Cause(StrEnum):
    """Why an effect is unknown: what was last seen of its request."""

    TIMEOUT = "timeout"
    RESET = "reset"
    SERVER_ERROR = "server_error"
    UNLISTED_ANSWER = "unlisted_answer"
    UNREADABLE_ANSWER = "unreadable_answer"
    MISMATCH = "mismatch"
    IN_PROGRESS = "in_progress"
    ACKNOWLEDGED_ONLY = "acknowledged_only"
    LEASE_LOST = "lease_lost"
    INTERRUPTED = "interrupted"
    TAKEN_IN = "taken_in"
    LATE_EVIDENCE = "late_evidence"


class RejectKind(StrEnum):
    """What a rejection rests on; reports never add the three together."""

    PROVIDER_DECLINED = "provider_declined"
    NOT_DISPATCHED = "not_dispatched"
    ABSENCE_PROVEN = "absence_proven"


@dataclass(frozen=True, slots=True)
class Edge:
    """One legal move: from, to, by whom, and whether it needs an applied resolution."""

    source: State
    target: State
    actor: Actor
    needs_resolution: bool = False


_S = State

EDGES: frozenset[Edge] = frozenset(
    {
        Edge(_S.UNBORN, _S.PREPARED, Actor.WORKFLOW),  # T1
        Edge(_S.UNBORN, _S.UNKNOWN, Actor.INTAKE),  # T20
        Edge(_S.PREPARED, _S.DISPATCHED, Actor.WORKER),  # T2
        Edge(_S.PREPARED, _S.REJECTED, Actor.WORKER),  # T3
        Edge(_S.PREPARED, _S.UNKNOWN, Actor.WORKER),  # evidence of an earlier sending came in
        Edge(_S.PREPARED, _S.UNKNOWN, Actor.RECONCILER),
        Edge(_S.DISPATCHED, _S.CONFIRMED, Actor.WORKER),  # T5
        Edge(_S.DISPATCHED, _S.REJECTED, Actor.WORKER),  # T6
        Edge(_S.DISPATCHED, _S.PREPARED, Actor.WORKER),  # T7
        Edge(_S.DISPATCHED, _S.UNKNOWN, Actor.WORKER),  # T8
        Edge(_S.DISPATCHED, _S.UNKNOWN, Actor.REAPER),  # T9
        Edge(_S.UNKNOWN, _S.CONFIRMED, Actor.RECONCILER),  # T11
        Edge(_S.UNKNOWN, _S.REJECTED, Actor.RECONCILER),  # T12
        Edge(_S.UNKNOWN, _S.REJECTED, Actor.OPERATOR, True),  # T13
        Edge(_S.UNKNOWN, _S.CONFIRMED, Actor.OPERATOR, True),  # T14
        Edge(_S.UNKNOWN, _S.PREPARED, Actor.OPERATOR, True),  # T15
    }
)

LOGINS: dict[Actor, Login] = {
    Actor.WORKFLOW: Login.WORKFLOW,
    Actor.WORKER: Login.WORKER,
    Actor.REAPER: Login.WORKER,
    Actor.RECONCILER: Login.WORKER,
    Actor.INTAKE: Login.WORKER,
    Actor.OPERATOR: Login.WEB,
}
