-- A decision is a resolution with its proof; inserting its application moves the effect. Everything
-- that sets the bar is derived here, never taken from the client (D9, D13-D15, D19).

create function holds(person uuid, of_tenant uuid, wanted text) returns boolean language sql stable
  as $$ select exists (select from tenant_grant g
    join account a on a.id = g.user_id and a.is_active
    join person p on p.id = a.person_id and p.disabled_at is null
    join auth_permission q on q.id = g.permission_id
    where a.person_id = person and g.content_object_id = of_tenant and q.codename = wanted
      and (g.expires_at is null or g.expires_at > now())) $$;

-- How many persons a decision takes: the policy's tier, the strictest where nothing is known.
create function people_required(of_tenant uuid, at_version int, of_operation text, of_currency text,
    of_amount bigint) returns smallint language sql stable as $$
  select coalesce((
    select case
      when num_nonnulls(t.second_from, t.third_from) = 0 then 1
      when of_amount is null or of_amount >= t.third_from then 3
      when of_amount >= t.second_from then 2
      else 1 end
    from policy_tier t where t.tenant_id = of_tenant and t.version = at_version
      and t.currency = of_currency and t.operation in (of_operation, '*')
    order by t.operation = '*' limit 1), 3)::smallint $$;

create function set_resolution() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare e effect; proofs bytea; begin
  select * into e from effect where tenant_id = new.tenant_id and effect_id = new.effect_id;
  if not found then
    raise exception using errcode = 'AS404', message = 'effect_unknown';
  end if;
  if not holds(new.person_id, new.tenant_id, 'propose') or not exists (select from account a
      where a.id = new.account_id and a.person_id = new.person_id) then
    raise exception using errcode = 'AS403', message = 'not_permitted';
  end if;
  select string_agg(n.hash, ''::bytea order by n.no) into proofs from entry n
    where n.tenant_id = new.tenant_id and n.effect_id = new.effect_id and n.no = any(new.evidence)
    having count(*) = cardinality(new.evidence);
  if proofs is null then
    raise exception using errcode = 'AS422', message = 'evidence_unknown';
  end if;
  new.from_state := e.state;
  new.to_state := case new.action when 'accept' then 4 when 'reject' then 5 else 1 end;
  new.operation := e.operation; new.amount_minor := e.amount_minor; new.currency := e.currency;
  new.evidence_digest := sha256(proofs);
  new.policy_version := coalesce(
    (select max(version) from policy where tenant_id = new.tenant_id), 0);
  new.people_required := people_required(new.tenant_id, new.policy_version, e.operation, e.currency,
    e.amount_minor);
  new.proposed_at := now(); new.expires_at := now() + interval '24 hours';
  new.digest := sha256(convert_to(jsonb_build_array('resolution/1', new.tenant_id, new.effect_id,
    new.action, new.version, new.from_state, new.to_state, new.amount_minor::text, new.currency,
    new.receipt_id, new.evidence, encode(new.evidence_digest, 'hex'), new.reason_code, new.words,
    new.person_id, new.policy_version, new.people_required)::text, 'UTF8'));
  return new;
end $$;
create trigger derive before insert on resolution for each row execute function set_resolution();

create function set_application() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare r resolution; begin
  select * into r from resolution where tenant_id = new.tenant_id
    and resolution_id = new.resolution_id;
  if not found then
    raise exception using errcode = 'AS404', message = 'resolution_unknown';
  end if;
  new.effect_id := r.effect_id; new.version := r.version; new.no := r.version + 1;
  new.from_state := r.from_state; new.to_state := r.to_state; new.digest := r.digest;
  new.applied_at := now();
  return new;
end $$;
create trigger derive before insert on application for each row execute function set_application();

create function apply_resolution() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare r resolution; e effect; relied entry; begin
  -- Two that decide at once both hold the row by their resolution's foreign key: a lock of that
  -- kind lets the second wait for the first; `for update` would lock them against each other.
  select * into e from effect where tenant_id = new.tenant_id and effect_id = new.effect_id
    for no key update;
  select * into r from resolution where tenant_id = new.tenant_id
    and resolution_id = new.resolution_id;
  if e.state <> r.from_state or e.version <> r.version then
    raise exception using errcode = 'AS409', message = 'moved';
  end if;
  if r.expires_at <= now() then
    raise exception using errcode = 'AS410', message = 'lapsed';
  end if;
  if greatest(r.people_required, people_required(r.tenant_id,                         -- D14
      (select max(version) from policy where tenant_id = r.tenant_id), e.operation, e.currency,
      e.amount_minor)) > 1 then
    raise exception using errcode = 'AS403', message = 'second_person_needed';
  end if;
  perform from tenant_grant g join account a on a.id = g.user_id                      -- D19
    where a.person_id = r.person_id and g.content_object_id = r.tenant_id for share;
  if not holds(r.person_id, r.tenant_id, 'propose') then
    raise exception using errcode = 'AS403', message = 'not_permitted';
  end if;
  select * into relied from entry n where n.tenant_id = r.tenant_id and n.effect_id = r.effect_id
    and n.no = any(r.evidence) and n.finding is not null and n.kind <> 'decision'
    order by n.no desc limit 1;
  perform refuse_unfounded(r, e, relied);
  update effect set state = r.to_state, hand = row('decision', 'operator', r.resolution_id, null,
      r.words, null, relied.finding, relied.object_id, null, null, null, null, null,
      null, null, null)::effect_hand,
    provider_result_id = case when r.action = 'accept' then r.receipt_id
      else provider_result_id end,
    response_digest = case when r.action = 'accept' then relied.proof else response_digest end,
    completed_at = case when r.action <> 'redispatch' then now() end,
    declined_code = case when r.action = 'reject' and relied.finding = 'failed_object'
      then (select convert_from(p.body, 'UTF8')::jsonb ->> 'code' from payload p
        where p.tenant_id = r.tenant_id and p.effect_id = r.effect_id and p.no = relied.no)
      else declined_code end,
    reject_kind = case when r.action <> 'reject' then reject_kind
      when relied.finding = 'failed_object' then 'provider_declined' else 'absence_proven' end,
    dispatch_until = case when r.action = 'redispatch'
      then e.key_until - key_margin(e.key_window_seconds) else dispatch_until end
    where tenant_id = r.tenant_id and effect_id = r.effect_id;
  return null;
end $$;
create trigger applied after insert on application for each row execute function apply_resolution();

-- Whether any evidence shows an object other than this one, or more than one.
create function speaks_of_another(e effect, of_object text) returns boolean language sql stable as
  $$ select exists (select from entry n where n.tenant_id = e.tenant_id
    and n.effect_id = e.effect_id and n.kind <> 'decision' and (n.finding = 'several'
      or n.finding in ('exact', 'likely', 'differs', 'pending', 'reversed')
        and n.object_id is not null and n.object_id is distinct from of_object)) $$;

-- What each decision must rest on; the newest finding may not speak against it.
create function refuse_unfounded(r resolution, e effect, relied entry) returns void
  language plpgsql as $$
declare newest entry; happened boolean; begin
  select * into newest from entry n where n.tenant_id = r.tenant_id and n.effect_id = r.effect_id
    and n.finding is not null and n.finding not in ('failing', 'unsupported')
    and n.kind <> 'decision' order by n.no desc limit 1;
  happened := has_happened(e, null);
  if r.action = 'accept' and relied.finding = 'likely' then                            -- K5
    raise exception using errcode = 'AS403', message = 'second_person_needed';
  elsif r.action = 'accept' then
    if relied.finding is distinct from 'exact' or relied.object_id is distinct from r.receipt_id
        or newest.finding is distinct from 'exact' or newest.object_id is distinct from r.receipt_id
        then
      raise exception using errcode = 'AS422', message = 'evidence_does_not_carry';
    end if;
    if speaks_of_another(e, r.receipt_id) then
      raise exception using errcode = 'AS403', message = 'second_person_needed';
    end if;
    return;
  end if;
  if relied.at <= e.last_attempt_at then  -- what was so before the last sending proves nothing
    raise exception using errcode = 'AS422', message = 'evidence_does_not_carry';
  end if;
  if r.action = 'reject' and relied.finding = 'failed_object'
      and (newest.finding = 'failed_object' and not speaks_of_another(e, newest.object_id)
        or newest.finding in ('absent', 'absent_inconclusive') and not happened) then
    return;
  end if;
  if relied.finding is distinct from 'absent' or newest.finding is distinct from 'absent'
      or happened then
    raise exception using errcode = 'AS422', message = 'evidence_does_not_carry';
  end if;
  if exists (select from entry n where n.tenant_id = r.tenant_id and n.effect_id = r.effect_id
      and n.no = 1 and n.kind = 'taken_in') then
    raise exception using errcode = 'AS403', message = 'second_person_needed';
  end if;
  if r.action = 'redispatch' and exists (select from entry n where n.tenant_id = r.tenant_id
      and n.effect_id = r.effect_id and n.finding = 'failed_object' and n.at > e.last_attempt_at)
      then  -- the same key would only repeat the failure
    raise exception using errcode = 'AS422', message = 'evidence_does_not_carry';
  end if;
  if r.action = 'redispatch' and (e.key_until is null or newest.at < now() - interval '10 minutes'
      or now() >= e.key_until - key_margin(e.key_window_seconds)) then
    raise exception using errcode = 'AS410', message = 'retry_closed';
  end if;
end $$;

-- A lookup that a person asked for is stamped with that person; a scheduled one with nobody.
create function set_lookup() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$ begin
  if (session_user = 'ascertain_web') <> (new.asked_by is not null)
      or new.asked_by is not null and not holds(new.asked_by, new.tenant_id, 'look_up') then
    raise exception using errcode = 'AS403', message = 'not_permitted';
  end if;
  new.asked_at := now(); new.started_at := null; new.finished_at := null; new.entry_no := null;
  return new;
end $$;
create trigger derive before insert on lookup for each row execute function set_lookup();
create trigger kept_facts before update on lookup for each row when (
  (new.tenant_id, new.lookup_id, new.effect_id, new.asked_by, new.asked_at) is distinct from
  (old.tenant_id, old.lookup_id, old.effect_id, old.asked_by, old.asked_at)
  or old.finished_at is not null) execute function refuse('a lookup keeps who asked and when');

-- An escalation stays a claim on a named owner: the effect remains unknown and frozen.
create function escalate() returns trigger language plpgsql security definer
  set search_path = public, pg_temp as $$
declare by_person boolean := session_user = 'ascertain_web'; begin
  if by_person <> (new.person_id is not null) or by_person
      and (not holds(new.person_id, new.tenant_id, 'propose') or not exists (select from account a
        where a.id = new.account_id and a.person_id = new.person_id)) then
    raise exception using errcode = 'AS403', message = 'not_permitted';
  end if;
  update effect set hand = row('escalated',
      case when by_person then 'operator' else 'reconciler' end,
      null, null, left('to ' || new.owner || ': ' || new.reason_code || '. ' || new.words, 2000),
      null, null, null, null, null, null, null, null, null, null, null)::effect_hand
    where tenant_id = new.tenant_id and effect_id = new.effect_id and state = 3;
  if not found then
    raise exception using errcode = 'AS409', message = 'moved';
  end if;
  update effect_open set escalated_at = new.at, escalated_to = new.owner,
      next_check_at = new.next_check_at
    where tenant_id = new.tenant_id and effect_id = new.effect_id;
  return null;
end $$;
create function set_escalation() returns trigger language plpgsql as $$ begin
  new.at := now();
  return new;
end $$;
create trigger derive before insert on escalation for each row execute function set_escalation();
create trigger files after insert on escalation for each row execute function escalate();
