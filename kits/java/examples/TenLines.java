import example.leads.*;
class TenLines {
  public static void main(String[] args) {
    var lead = Lead.builder().firstName("Ada").lastName("Lovelace")
        .phone("+1 415 555 0100").build();
    try {
      var ack = LeadsClient.fromEnvironment().postLead(lead, "acme:4711");
      System.out.println("Stored: " + ack.status() + " " + ack.eventId());
    } catch (InvalidLeadException e) {
      System.err.println("Correct it, same key: " + e.fields());
    } catch (UnavailableException e) {
      System.err.println("Post it later, same key: " + e.getMessage());
    } // Any other LeadsException is for a person to read.
  }
}
