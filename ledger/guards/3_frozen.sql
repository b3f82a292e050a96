-- Nothing disappears and nothing is rewritten (D2, D3): refused for every login, the owner
-- included, as long as the triggers stand.

create function refuse() returns trigger language plpgsql as $$ begin
  raise exception using errcode = 'integrity_constraint_violation',
    message = tg_table_name || ': ' || tg_argv[0];
end $$;

create trigger a_frozen before update on effect for each row when (
  (new.tenant_id, new.effect_id, new.intent_key, new.request_digest, new.digest_version,
   new.amount_minor, new.currency, new.exponent, new.workflow_id, new.step_id, new.object_type,
   new.object_ref, new.recipient_token, new.recipient_label, new.provider, new.operation,
   new.contract_version, new.account, new.environment, new.provider_key, new.initiator_id,
   new.compensates_id, new.compensates_object, new.supersedes_id, new.distinct_because,
   new.exclusive, new.key_window_seconds, new.lease_seconds, new.created_at, new.version,
   new.fence, new.head,
   new.attempts, new.first_attempt_at, new.last_attempt_at, new.key_until)
  is distinct from
  (old.tenant_id, old.effect_id, old.intent_key, old.request_digest, old.digest_version,
   old.amount_minor, old.currency, old.exponent, old.workflow_id, old.step_id, old.object_type,
   old.object_ref, old.recipient_token, old.recipient_label, old.provider, old.operation,
   old.contract_version, old.account, old.environment, old.provider_key, old.initiator_id,
   old.compensates_id, old.compensates_object, old.supersedes_id, old.distinct_because,
   old.exclusive, old.key_window_seconds, old.lease_seconds, old.created_at, old.version,
   old.fence, old.head,
   old.attempts, old.first_attempt_at, old.last_attempt_at, old.key_until))
  execute function refuse('identity and history are frozen');

-- Outside a step nothing about an effect changes: results, causes and deadlines move with an entry.
create trigger c_quiet before update on effect for each row
  when (new.version = old.version and new is distinct from old)
  execute function refuse('a change needs its entry');

-- Evidence without a move tells of an effect and alters nothing of it, its receipt least of all.
create trigger d_results before update on effect for each row when (new.state = old.state and
  (new.dispatch_until, new.lease_until, new.cause, new.server_error, new.declined_code,
   new.reject_kind, new.provider_result_id, new.response_digest, new.completed_at,
   new.provider_completed_at)
  is distinct from
  (old.dispatch_until, old.lease_until, old.cause, old.server_error, old.declined_code,
   old.reject_kind, old.provider_result_id, old.response_digest, old.completed_at,
   old.provider_completed_at))
  execute function refuse('results move only with the state');

do $$ declare t text; begin
  foreach t in array array['effect', 'entry', 'resolution', 'application', 'contract', 'record',
      'escalation', 'effect_ref', 'policy', 'policy_tier', 'policy_auto_settle', 'resumption',
      'lookup'] loop
    execute format('create trigger kept before delete on %I for each row
      execute function refuse(''rows are never deleted'')', t);
    execute format('create trigger kept_whole before truncate on %I for each statement
      execute function refuse(''rows are never deleted'')', t);
  end loop;
  foreach t in array array['entry', 'resolution', 'application', 'contract', 'record', 'escalation',
      'effect_ref', 'policy', 'policy_tier', 'policy_auto_settle', 'payload'] loop
    execute format('create trigger unchanged before update on %I for each row
      execute function refuse(''rows are never changed'')', t);
  end loop;
end $$;
create trigger kept_whole before truncate on payload for each statement
  execute function refuse('rows are erased one by one');
create trigger kept_whole before truncate on effect_open for each statement
  execute function refuse('rows leave with their effect''s last step');

create function acknowledge_once() returns trigger language plpgsql as $$ begin
  if old.acknowledged_at is not null or (new.tenant_id, new.effect_id, new.no, new.workflow_id,
      new.step_id, new.state, new.created_at)
      is distinct from (old.tenant_id, old.effect_id, old.no, old.workflow_id, old.step_id,
      old.state, old.created_at) then
    raise exception using errcode = 'integrity_constraint_violation',
      message = 'resumption: acknowledged once, otherwise unchanged';
  end if;
  new.acknowledged_at := now();
  return new;
end $$;
create trigger once before update on resumption for each row execute function acknowledge_once();
