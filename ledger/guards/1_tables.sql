-- The record's tables. Tenant first in every key; ids are client-made uuidv7; amounts are bigint
-- minor units; `state` stands in no index of `effect`, so that each step stays a HOT update.

create table contract (
  provider text not null, operation text not null, version text not null,
  body text not null, digest bytea not null,
  key_window_seconds int, dispatch_within_seconds int not null, lease_seconds int not null,
  freeze_mode text not null check (freeze_mode in ('block', 'warn', 'off')),
  has_amount boolean not null, added_at timestamptz not null default now(),
  primary key (provider, operation, version));

-- Arguments of the entry in hand. The column is null at rest: the trigger files it and clears it.
create type effect_hand as (
  kind text, actor text, resolution_id uuid, lookup_id uuid, note text, body bytea,
  finding text, object_id text, refs text[],
  due_at timestamptz, counts_from timestamptz, priority smallint, rank_until timestamptz,
  rank_minor bigint, brief text, about smallint);

create table effect (
  tenant_id uuid not null, effect_id uuid not null,
  intent_key text collate "C" not null check (octet_length(intent_key) between 1 and 200),
  request_digest bytea not null check (octet_length(request_digest) = 32),
  digest_version smallint not null,
  amount_minor bigint check (amount_minor between 0 and 1000000000000000),
  currency text collate "C" not null check (currency ~ '^[A-Z]{3}$'),
  exponent smallint not null check (exponent between 0 and 4),
  workflow_id text, step_id text, object_type text, object_ref text,
  recipient_token text, recipient_label text,
  provider text not null, operation text not null, contract_version text not null,
  account text not null, environment text not null, provider_key uuid not null,
  initiator_id uuid, compensates_id uuid, compensates_object text, supersedes_id uuid,
  distinct_because text, exclusive boolean not null, key_window_seconds int,
  lease_seconds int not null, created_at timestamptz not null,
  state smallint not null, version int not null, fence int not null, head bytea not null,
  attempts smallint not null, first_attempt_at timestamptz, last_attempt_at timestamptz,
  dispatch_until timestamptz not null, lease_until timestamptz, key_until timestamptz,
  cause text, server_error boolean not null default false, declined_code text, reject_kind text,
  provider_result_id text, response_digest bytea,
  completed_at timestamptz, provider_completed_at timestamptz,
  hand effect_hand,
  primary key (tenant_id, effect_id),
  unique (tenant_id, intent_key),                                                     -- D1
  constraint nothing_in_hand check (hand is null),
  constraint an_object_has_a_type check ((object_type is null) = (object_ref is null)),
  constraint messages_have_no_amount check (currency <> 'XXX' or amount_minor is null),
  constraint dispatched_has_a_lease check (state <> 2 or lease_until is not null),    -- D21
  constraint unknown_has_a_cause check (state <> 3 or cause is not null),
  constraint confirmed_has_a_receipt check (state <> 4 or
    num_nulls(provider_result_id, response_digest, completed_at) = 0
      and provider_result_id <> '' and octet_length(response_digest) = 32),           -- D21
  constraint rejected_has_a_kind check (state <> 5 or
    reject_kind in ('provider_declined', 'not_dispatched', 'absence_proven'))
) with (fillfactor = 70);
create index effect_workflow on effect (tenant_id, workflow_id);

-- A resolution is a decision with its proof and reason; it is never changed.
create table resolution (
  tenant_id uuid not null, resolution_id uuid not null, effect_id uuid not null,
  command_id uuid not null, action text not null
    check (action in ('accept', 'reject', 'redispatch')),
  version int not null, from_state smallint not null, to_state smallint not null,
  operation text not null, amount_minor bigint, currency text not null, receipt_id text,
  evidence int[] not null check (cardinality(evidence) > 0), evidence_digest bytea not null,
  reason_code text not null check (reason_code <> ''), words text not null,
  person_id uuid not null, account_id uuid not null,
  policy_version int not null, people_required smallint not null,
  digest bytea not null, proposed_at timestamptz not null, expires_at timestamptz not null,
  primary key (tenant_id, resolution_id), unique (tenant_id, command_id),
  unique (tenant_id, resolution_id, effect_id, version, from_state, to_state, digest),
  foreign key (tenant_id, effect_id) references effect,
  constraint accept_names_a_receipt check (action <> 'accept' or receipt_id is not null));
create index resolution_effect on resolution (tenant_id, effect_id);

-- Inserting an application *is* the decision: its trigger checks everything again and moves the
-- effect. Approved-but-not-applied cannot exist.
create table application (
  tenant_id uuid not null, resolution_id uuid not null, effect_id uuid not null,
  version int not null, no int not null check (no = version + 1),
  from_state smallint not null, to_state smallint not null, digest bytea not null,
  applied_at timestamptz not null,
  primary key (tenant_id, resolution_id),
  unique (tenant_id, resolution_id, effect_id, no, from_state, to_state),
  constraint application_carries_its_resolution                                       -- D10
    foreign key (tenant_id, resolution_id, effect_id, version, from_state, to_state, digest)
    references resolution (tenant_id, resolution_id, effect_id, version, from_state, to_state,
      digest));

-- Everything that happens to an effect, E1, E2 ...: transition, evidence and audit entry in one.
create table entry (
  tenant_id uuid not null, effect_id uuid not null, no int not null,
  kind text not null, from_state smallint not null, to_state smallint not null,
  actor text not null, login text not null, resolution_id uuid,
  at timestamptz not null, note text, finding text, object_id text,
  proof bytea not null, hash bytea not null,
  primary key (tenant_id, effect_id, no),                                             -- D7
  constraint legal_edge check (                                                       -- D4, D9
    (from_state, to_state, actor, resolution_id is not null) in (
      (0, 1, 'workflow', false), (0, 3, 'intake', false),
      (1, 2, 'worker', false), (1, 5, 'worker', false), (1, 3, 'worker', false),
      (1, 3, 'reconciler', false),
      (2, 4, 'worker', false), (2, 5, 'worker', false), (2, 1, 'worker', false),
      (2, 3, 'worker', false), (2, 3, 'reaper', false),
      (3, 4, 'reconciler', false), (3, 5, 'reconciler', false),
      (3, 4, 'operator', true), (3, 5, 'operator', true), (3, 1, 'operator', true))
    or from_state = to_state and resolution_id is null),
  constraint decision_is_applied check ((kind = 'decision') = (resolution_id is not null)),
  constraint login_is_actor check ((login, actor) in (                                -- D8
    ('ascertain_workflow', 'workflow'), ('ascertain_worker', 'worker'),
    ('ascertain_worker', 'reaper'), ('ascertain_worker', 'reconciler'),
    ('ascertain_worker', 'intake'), ('ascertain_web', 'operator'))),
  constraint entry_rests_on_application                                               -- D9
    foreign key (tenant_id, resolution_id, effect_id, no, from_state, to_state)
    references application (tenant_id, resolution_id, effect_id, no, from_state, to_state));

-- What an entry rests on, in its own erasable row; the entry keeps only its salted digest.
create table payload (
  tenant_id uuid not null, effect_id uuid not null, no int not null,
  salt bytea not null, body bytea not null check (octet_length(body) <= 262144),
  primary key (tenant_id, effect_id, no));

-- Every effect that is not terminal: the queue, the sweeps' agenda and the freeze.
-- What moves stands together before what stays: an update logs the bytes from the first changed
-- column to the last.
create table effect_open (
  tenant_id uuid not null, effect_id uuid not null, state smallint not null,
  priority smallint not null default 4, last_no int not null, due_at timestamptz not null,
  since timestamptz not null, key_until timestamptz not null default 'infinity',
  first_attempt_at timestamptz, counts_from timestamptz, rank_minor bigint not null default 0,
  rank_until timestamptz, looks smallint not null, finding text, brief text, cause text,
  claim_by uuid, claim_until timestamptz, snoozed_until timestamptz, resolution_id uuid,
  escalated_at timestamptz, escalated_to text, next_check_at timestamptz,
  exclusive boolean not null, amount_minor bigint, currency text not null,
  created_at timestamptz not null, intent_key text not null, operation text not null,
  provider text not null, account text not null, environment text not null,
  recipient_label text, object_type text, object_ref text, workflow_id text,
  primary key (tenant_id, effect_id)) with (fillfactor = 60);
create index effect_open_due on effect_open (due_at);
create index effect_open_priority on effect_open
  (tenant_id, priority, key_until, rank_minor, effect_id) where state = 3;
create index effect_open_amount on effect_open (tenant_id, rank_minor, effect_id) where state = 3;
create index effect_open_age on effect_open (tenant_id, since, effect_id) where state = 3;
create index effect_open_key on effect_open (tenant_id, key_until, effect_id) where state = 3;
create index effect_open_rank on effect_open (rank_until) where state = 3;
create unique index one_object_at_a_time on effect_open
  (tenant_id, object_type, object_ref, operation) where exclusive and state in (2, 3);

-- Provider object ids, provider request ids, keys that others sent; `receipt` proves an effect.
create table effect_ref (
  tenant_id uuid not null, ref text collate "C" not null, kind text not null
    check (kind in ('receipt', 'object', 'seen', 'request', 'key', 'lookup')),
  effect_id uuid not null, provider text not null, account text not null,
  primary key (tenant_id, ref, kind, effect_id));
create index effect_ref_effect on effect_ref (tenant_id, effect_id);
create unique index one_receipt_one_effect on effect_ref (tenant_id, provider, account, ref)
  where kind = 'receipt';                                                             -- D20

create table lookup (
  tenant_id uuid not null, lookup_id uuid not null, effect_id uuid not null,
  asked_by uuid, asked_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  entry_no int, progress text,
  primary key (tenant_id, lookup_id));
create unique index one_lookup_at_a_time on lookup (tenant_id, effect_id)
  where finished_at is null;
create index lookup_waiting on lookup (asked_at) where finished_at is null;
create index lookup_effect on lookup (tenant_id, effect_id, asked_at);

create table escalation (
  tenant_id uuid not null, escalation_id uuid not null, effect_id uuid not null,
  command_id uuid not null, person_id uuid, account_id uuid,
  owner text not null check (owner <> ''), reason_code text not null check (reason_code <> ''),
  words text not null, next_check_at timestamptz not null, at timestamptz not null,
  primary key (tenant_id, escalation_id), unique (tenant_id, command_id),
  foreign key (tenant_id, effect_id) references effect);
create index escalation_effect on escalation (tenant_id, effect_id);

-- The news that a workflow may go on, written in the terminal step's own transaction.
create table resumption (
  tenant_id uuid not null, effect_id uuid not null, no int not null,
  workflow_id text not null, step_id text, state smallint not null,
  created_at timestamptz not null, acknowledged_at timestamptz,
  primary key (tenant_id, effect_id, no));
create index resumption_due on resumption (tenant_id, created_at) where acknowledged_at is null;

-- What belongs to no single effect: refusals, sign-ins, exports, changes of rights and policy.
create table record (
  tenant_id uuid not null, record_id uuid not null, kind text not null,
  person_id uuid, account_id uuid, login text not null default session_user,
  object_type text, object_id text, body text not null,
  at timestamptz not null default now(),
  primary key (tenant_id, record_id));
create index record_at on record (tenant_id, at);

-- Tiers by version; rows are never changed, a new version replaces the old one as a whole.
create table policy (
  tenant_id uuid not null, version int not null, made_by uuid, made_at timestamptz not null
    default now(), primary key (tenant_id, version));
create table policy_tier (
  tenant_id uuid not null, version int not null, operation text not null, currency text not null,
  second_from bigint, third_from bigint,
  primary key (tenant_id, version, operation, currency),
  foreign key (tenant_id, version) references policy);
create table policy_auto_settle (
  tenant_id uuid not null, version int not null, provider text not null, operation text not null,
  currency text not null, ceiling_minor bigint,
  primary key (tenant_id, version, provider, operation, currency),
  foreign key (tenant_id, version) references policy);
