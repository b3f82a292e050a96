-- The only writer of entries. A step is one UPDATE of the effect; these triggers number it, chain
-- it, keep the queue row and file the entry in the same statement (D5, D6, D22, D25).

create function link(prev bytea, tenant uuid, effect uuid, no int, kind text, source smallint,
  target smallint, actor text, login text, resolution uuid, at timestamptz, finding text,
  object_id text, proof bytea) returns bytea language sql immutable as $$
  select sha256('entry/1'::bytea || prev || uuid_send(tenant) || uuid_send(effect) || int4send(no)
    || sha256(convert_to(kind, 'UTF8')) || int2send(source) || int2send(target)
    || sha256(convert_to(actor, 'UTF8')) || sha256(convert_to(login, 'UTF8'))
    || coalesce(uuid_send(resolution), ''::bytea) || timestamptz_send(at)
    || sha256(convert_to(coalesce(finding, ''), 'UTF8'))
    || sha256(convert_to(coalesce(object_id, ''), 'UTF8')) || sha256(proof)) $$;

-- Computes only: it also runs for the losers of `on conflict do nothing`.
create function set_birth() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare c contract; of_tenant text; begin
  select * into c from contract where provider = new.provider and operation = new.operation
    and version = new.contract_version;
  if not found then
    raise exception using errcode = 'AS422', message = 'contract_unknown',
      detail = format('no contract %s/%s %s', new.provider, new.operation, new.contract_version);
  end if;
  select environment into of_tenant from tenant where id = new.tenant_id;
  if not found then
    raise exception using errcode = 'AS422', message = 'tenant_unknown';
  elsif coalesce(new.environment, of_tenant) <> of_tenant then
    raise exception using errcode = 'AS422', message = 'environment_differs';
  end if;
  new.environment := of_tenant;
  if coalesce((new.hand).actor, '') not in ('workflow', 'intake') then
    raise exception using errcode = 'check_violation',
      message = 'an effect is born by a workflow or by intake';
  end if;
  new.lease_seconds := c.lease_seconds;
  new.version := 1; new.fence := 0; new.attempts := 0; new.created_at := now();
  new.lease_until := null; new.key_until := null; new.server_error := false;
  new.declined_code := null; new.reject_kind := null; new.provider_result_id := null;
  new.response_digest := null; new.completed_at := null; new.provider_completed_at := null;
  if (new.hand).actor = 'intake' then
    new.state := 3; new.cause := 'taken_in'; new.exclusive := false; new.key_window_seconds := null;
    new.last_attempt_at := new.first_attempt_at; new.attempts := 1; new.dispatch_until := now();
  else
    new.state := 1; new.cause := null; new.first_attempt_at := null; new.last_attempt_at := null;
    new.key_window_seconds := c.key_window_seconds;
    new.dispatch_until := now() + make_interval(secs => c.dispatch_within_seconds);
    new.exclusive := c.freeze_mode = 'block' and new.distinct_because is null
      and new.object_ref is not null;
  end if;
  new.head := link(''::bytea, new.tenant_id, new.effect_id, 1, birth_kind(new.state), 0::smallint,
    new.state, (new.hand).actor, session_user, null, new.created_at, null, null,
    new.request_digest);
  new.hand := null;
  return new;
end $$;

create function birth_kind(state smallint) returns text language sql immutable as
  $$ select case state when 1 then 'prepared' else 'taken_in' end $$;

create function file_birth() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare who text := case new.state when 1 then 'workflow' else 'intake' end; begin
  insert into entry (tenant_id, effect_id, no, kind, from_state, to_state, actor, login, at, proof,
      hash)
    values (new.tenant_id, new.effect_id, 1, birth_kind(new.state), 0, new.state, who, session_user,
      new.created_at, new.request_digest, new.head);
  insert into effect_open (tenant_id, effect_id, state, due_at, since, created_at, cause, last_no,
      looks, intent_key, operation, provider, account, environment, recipient_label, object_type,
      object_ref, amount_minor, currency, exclusive, workflow_id, first_attempt_at, rank_minor)
    values (new.tenant_id, new.effect_id, new.state, new.created_at,
      coalesce(new.first_attempt_at, new.created_at), new.created_at, new.cause, 1, 0,
      new.intent_key, new.operation, new.provider, new.account, new.environment,
      new.recipient_label, new.object_type, new.object_ref, new.amount_minor, new.currency,
      new.exclusive, new.workflow_id, new.first_attempt_at, -coalesce(new.amount_minor, 0));
  return null;
end $$;

create function file_entry() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare
  at timestamptz := now(); h effect_hand := new.hand; moved boolean := new.state <> old.state;
  salt bytea := ''; proof bytea;
begin
  if h.kind is null or h.actor is null or h.body is not null and h.note is not null then
    raise exception using errcode = 'check_violation',
      message = 'an effect moves only with its entry';
  end if;
  if exists (select from unnest(h.refs) r where r like 'receipt:%') then
    raise exception using errcode = 'check_violation',
      message = 'a receipt comes with its confirmation alone';
  end if;
  new.version := old.version + 1;
  if h.about < old.attempts and h.finding in ('absent', 'absent_inconclusive', 'failed_object') then
    h.finding := null; h.brief := null;  -- it speaks of an earlier sending, not of this one
  end if;
  if moved then perform refuse_unproven(old, new, h); end if;
  if moved and new.state = 2 then
    new.fence := new.version; new.attempts := old.attempts + 1; new.last_attempt_at := at;
    new.first_attempt_at := coalesce(old.first_attempt_at, at);
    new.key_until := coalesce(old.key_until, at + make_interval(secs => old.key_window_seconds));
    new.cause := null; new.declined_code := null;
  elsif moved and old.state = 2 then
    new.lease_until := null;
    if h.actor = 'reaper' then new.fence := new.version; end if;                      -- T9
  end if;
  if h.body is not null then
    salt := uuid_send(gen_random_uuid()); proof := sha256(salt || h.body);
  elsif h.resolution_id is not null then
    select r.digest into proof from resolution r where r.tenant_id = new.tenant_id
      and r.resolution_id = h.resolution_id;
  else
    proof := sha256(convert_to(coalesce(h.note, ''), 'UTF8'));
  end if;
  new.head := link(old.head, new.tenant_id, new.effect_id, new.version, h.kind, old.state,
    new.state, h.actor, session_user, h.resolution_id, at, h.finding, h.object_id, proof);
  insert into entry values (new.tenant_id, new.effect_id, new.version, h.kind, old.state, new.state,
    h.actor, session_user, h.resolution_id, at, h.note, h.finding, h.object_id, proof, new.head);
  if h.body is not null then
    insert into payload values (new.tenant_id, new.effect_id, new.version, salt, h.body);
  end if;
  if h.refs is not null then
    insert into effect_ref select new.tenant_id, substr(r, strpos(r, ':') + 1),
      split_part(r, ':', 1), new.effect_id, new.provider, new.account from unnest(h.refs) r
      on conflict do nothing;
  end if;
  if new.state >= 4 then
    if moved then perform file_ending(old.state, new); end if;
  else
    update effect_open o set state = new.state, last_no = new.version, cause = new.cause,
      due_at = coalesce(case when new.state = 1 and h.due_at is not null
          then least(h.due_at, new.dispatch_until)
          else h.due_at end, case when not moved then o.due_at
        when new.state = 2 then new.lease_until else at end),
      since = case when moved and new.state = 3 then coalesce(new.last_attempt_at, at)
        when moved then at else o.since end,
      finding = case when moved and new.state <> 3 then null
        else coalesce(h.finding, o.finding) end,
      brief = case when moved and new.state <> 3 or h.finding is not null then h.brief
        else o.brief end,
      looks = o.looks + scheduled(new.tenant_id, h.lookup_id)::int,
      counts_from = coalesce(h.counts_from, o.counts_from),
      key_until = coalesce(new.key_until, 'infinity'), first_attempt_at = new.first_attempt_at,
      priority = coalesce(h.priority, o.priority),
      rank_minor = coalesce(h.rank_minor, o.rank_minor),
      rank_until = coalesce(h.rank_until, o.rank_until),
      escalated_at = case when moved then null else o.escalated_at end,
      escalated_to = case when moved then null else o.escalated_to end
    where o.tenant_id = new.tenant_id and o.effect_id = new.effect_id;
  end if;
  new.hand := null;
  return new;
end $$;

-- Whether a lookup was asked for by schedule: only such count towards the contract's plan.
create function scheduled(of_tenant uuid, of_lookup uuid) returns boolean language sql stable as
  $$ select exists (select from lookup l where l.tenant_id = of_tenant and l.lookup_id = of_lookup
    and l.asked_by is null) $$;

-- Whether any evidence speaks for an effect at the provider; `of_object` names one to leave out.
create function has_happened(e effect, of_object text) returns boolean language sql stable as
  $$ select exists (select from entry n where n.tenant_id = e.tenant_id
    and n.effect_id = e.effect_id and n.kind <> 'decision'
    and n.finding in ('exact', 'likely', 'differs', 'several', 'pending', 'reversed')
    and (of_object is null or n.object_id is distinct from of_object
      or n.finding in ('differs', 'reversed'))) $$;

-- The part of a key window in which nothing is sent any more: 10 %, at least ten minutes.
create function key_margin(window_seconds int) returns interval language sql immutable as
  $$ select make_interval(secs => greatest(600, window_seconds / 10)) $$;

-- A terminal step: the queue row goes, the receipt and the resumption come.
create function file_ending(source smallint, e effect) returns void language plpgsql as $$ begin
  delete from effect_open o where o.tenant_id = e.tenant_id and o.effect_id = e.effect_id;
  if e.state = 4 then
    insert into effect_ref values (e.tenant_id, e.provider_result_id, 'receipt', e.effect_id,
      e.provider, e.account);                                                         -- D20
  end if;
  if e.workflow_id is not null then
    insert into resumption (tenant_id, effect_id, no, workflow_id, step_id, state, created_at)
      values (e.tenant_id, e.effect_id, e.version, e.workflow_id, e.step_id, e.state, now());
  end if;
end $$;

-- What each move must rest on, beside the edge itself.
create function refuse_unproven(o effect, n effect, h effect_hand) returns void
  language plpgsql as $$
begin
  if n.state = 2 and (now() >= o.dispatch_until                                       -- L16
      or now() >= o.key_until - key_margin(o.key_window_seconds)) then
    raise exception using errcode = 'AS410', message = 'dispatch_too_late';
  end if;
  if (n.state in (2, 5) and o.state = 1 and o.attempts > 0 or n.state in (1, 5) and o.state = 2)
      and has_happened(o, null) then
    raise exception using errcode = 'AS409', message = 'happened_meanwhile';
  end if;
  if n.state = 5 and o.state = 1 and now() < o.dispatch_until then                    -- T3
    raise exception using errcode = 'check_violation', message = 'it may still be sent';
  end if;
  if n.state = 3 and o.state = 1 and coalesce(h.finding, '')
      not in ('exact', 'likely', 'differs', 'several', 'pending', 'reversed') then
    raise exception using errcode = 'check_violation',
      message = 'only evidence of an effect makes a waiting one unknown again';
  end if;
  if o.state = 2 and (n.state = 4 and (h.finding, h.object_id)
      is distinct from ('exact', n.provider_result_id)
      or n.state = 5 and h.finding is distinct from 'failed_object') then             -- T5, T6
    raise exception using errcode = 'check_violation',
      message = 'an answer settles an effect only with what it found';
  end if;
  if n.state = 5 and n.reject_kind is distinct from (case
      when o.state = 1 then 'not_dispatched' when h.actor = 'worker' then 'provider_declined'
      when h.finding = 'failed_object' then 'provider_declined' else 'absence_proven' end) then
    raise exception using errcode = 'check_violation',
      message = 'the kind of rejection does not fit its proof';
  end if;
  if n.state = 5 and o.state = 2 and n.declined_code is null then
    raise exception using errcode = 'check_violation',
      message = 'a refusal names the code it rests on';
  end if;
  if o.state = 2 and h.actor = 'worker' and h.body is null then                       -- T5-T8
    raise exception using errcode = 'check_violation',
      message = 'an answer moves an effect only with its body';
  end if;
  if h.actor = 'reaper' and o.lease_until >= now() then
    raise exception using errcode = 'check_violation', message = 'the lease still runs';
  end if;
  if h.actor = 'reconciler' and o.state = 3 and not may_settle_itself(n, h) then      -- T11, T12
    raise exception using errcode = 'check_violation',
      message = 'automation settles nothing here: policy, lookup or finding does not allow it';
  end if;
end $$;

create function may_settle_itself(e effect, h effect_hand) returns boolean language sql stable as $$
  select (e.state = 4 and h.finding = 'exact' and h.object_id = e.provider_result_id
        and not has_happened(e, h.object_id)
      or e.state = 5 and h.finding = 'failed_object' and not has_happened(e, null))
    and exists (select from lookup l where l.tenant_id = e.tenant_id and l.lookup_id = h.lookup_id
      and l.effect_id = e.effect_id and l.asked_by is null and l.finished_at is null)
    and exists (select from policy_auto_settle p where p.tenant_id = e.tenant_id
      and p.version = (select max(version) from policy where tenant_id = e.tenant_id)
      and p.provider = e.provider and p.operation = e.operation and p.currency = e.currency
      and (e.currency = 'XXX' or e.amount_minor <= p.ceiling_minor)) $$;

create trigger birth before insert on effect for each row execute function set_birth();
create trigger born after insert on effect for each row execute function file_birth();
create trigger b_file before update on effect for each row
  when (new.state is distinct from old.state or not (new.hand is null))
  execute function file_entry();

-- A first payload is the request as it will be sent; all others are written by the entry trigger.
create function check_payload() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$ begin
  if new.no = 1 and not exists (select from effect e where e.tenant_id = new.tenant_id
      and e.effect_id = new.effect_id and e.request_digest = sha256(new.salt || new.body))
    or new.no > 1 and not exists (select from entry e where e.tenant_id = new.tenant_id
      and e.effect_id = new.effect_id and e.no = new.no
      and e.proof = sha256(new.salt || new.body)) then
    raise exception using errcode = 'check_violation',
      message = 'a payload must match its entry''s digest';
  end if;
  return null;
end $$;
create trigger matches after insert on payload for each row execute function check_payload();
