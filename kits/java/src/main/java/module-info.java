/** The client kit of the Lead Intake Service: {@link example.leads.LeadsClient} posts a lead. */
module example.leads {
  requires java.net.http;
  requires com.google.gson;

  exports example.leads;
}
