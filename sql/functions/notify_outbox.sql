-- Wakes the delivery loops. This is only a hint, so it is skipped while the notification queue is half full: any role can
-- fill the queue, and a full queue would make commits fail for as long as one listener stays in a transaction.
create or replace function notify_outbox(p_node text) returns void
language sql volatile
as $$ select pg_notify('outbox', p_node) where pg_notification_queue_usage() < 0.5 $$;
