-- Wakes the delivery loops: a hint, which is left out when a role that everybody's NOTIFY is open to has half filled the queue. A
-- full queue refuses the commit of whoever notifies, and the queue stays full as long as a listener is kept in a transaction.
create or replace function notify_outbox(p_node text) returns void
language sql volatile
as $$ select pg_notify('outbox', p_node) where pg_notification_queue_usage() < 0.5 $$;
