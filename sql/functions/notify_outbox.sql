-- Wakes the delivery loops: only a hint, skipped when the queue is half full. Any role can fill it with NOTIFY, and a
-- full queue would refuse commits for as long as one listener stays in a transaction.
create or replace function notify_outbox(p_node text) returns void
language sql volatile
as $$ select pg_notify('outbox', p_node) where pg_notification_queue_usage() < 0.5 $$;
