-- What the processes count is added up and never taken away from, whoever calls.
alter table refusal_total add check (count > 0);
alter table duplicate_total add check (count > 0);
alter table minute_sample
  add check (accepted >= 0 and refused >= 0 and delivered >= 0 and failed >= 0),
  -- Nor what no plot can show.
  add check (oldest_pending_s >= 0 and oldest_pending_s < 'infinity');
