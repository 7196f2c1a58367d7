import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.model.Acknowledgement;
import org.openapitools.client.model.Lead;
import org.openapitools.client.model.Plan;
import org.openapitools.client.model.SubmissionAcknowledgement;
import org.openapitools.client.model.Vocabulary;

/** What a caller does with the client that openapi-generator makes. */
public class Client {
  interface Call<T> {
    ApiResponse<T> run() throws ApiException;
  }

  static final Library intake = new Library(env("INTAKE_URL"), env("LEADS_API_KEY"));
  static final Library stranger = new Library(env("INTAKE_URL"), "mistyped");
  static final Library forms = new Library(env("FORMS_URL"), env("FORMS_API_KEY"));
  static final Library subscription = new Library(env("SUBSCRIPTION_URL"), "");

  static String env(String name) {
    return System.getenv(name);
  }

  static Map<String, Object> acknowledged(ApiResponse<Acknowledgement> answer) {
    Acknowledgement found = answer.getData();
    Map<String, Object> report = new LinkedHashMap<>();
    report.put("event_id", found.getEventId());
    report.put("status", found.getStatus().getValue());
    report.put("received_at", found.getReceivedAt().toInstant().toEpochMilli());
    report.put("source", found.getSource());
    report.put("flags", new ArrayList<>(found.getFlags()));
    return report;
  }

  static <T> Map<String, Object> refused(Call<T> call) {
    try {
      throw new IllegalStateException("There is no error, but " + call.run().getStatusCode());
    } catch (ApiException error) {
      return Library.refused(error);
    }
  }

  static ApiResponse<SubmissionAcknowledgement> submit(Map<String, Object> fields) throws ApiException {
    return forms.forms.submitFormWithHttpInfo(env("TENANT"), env("FORM_KEY"), fields, null, null);
  }

  public static void main(String[] args) throws ApiException {
    Lead lead = new Lead()
        .firstName("Ada")
        .lastName("Lovelace")
        .phone("+44 20 7946 0123")
        .country("GB")
        .projectArea("Wine Cellar")
        .projectService("Remodel")
        .cost(new BigDecimal("12.5"));
    Lead blank = new Lead()
        .firstName("Ada")
        .lastName(" ")
        .phone("(555) 123-4567")
        .cost(new BigDecimal(1000));
    String key = env("IDEMPOTENCY_KEY");
    Map<String, Object> visitor =
        Map.of("name", "Grace Hopper", "email", "grace@example.com", "visits", 3, "message", key);

    Map<String, Object> report = new LinkedHashMap<>();
    report.put("accepted", acknowledged(intake.intake.postLeadWithHttpInfo(lead, key, null)));
    report.put("repeated", acknowledged(intake.intake.postLeadWithHttpInfo(lead, key, null)));
    report.put("refused", refused(() -> intake.intake.postLeadWithHttpInfo(blank, null, null)));
    report.put("unauthorized", refused(() -> stranger.intake.postLeadWithHttpInfo(lead, null, null)));
    Vocabulary vocabulary = intake.intake.getVocabulary(null);
    report.put("areas", vocabulary.getProjectArea().stream()
        .filter(term -> term.getStatus().equals("confirmed")).count());
    report.put("services", vocabulary.getProjectService());
    report.put("is_well", intake.health.getHealth().getOk());
    SubmissionAcknowledgement submitted = submit(visitor).getData();
    SubmissionAcknowledgement again = submit(visitor).getData();
    report.put("submitted", List.of(submitted.getStatus().getValue(), again.getStatus().getValue()));
    report.put("is_same", submitted.getSubmissionId().equals(again.getSubmissionId()));
    report.put("missing", refused(() -> submit(Map.of())));
    List<List<Object>> plans = new ArrayList<>();
    for (Plan plan : subscription.plans.getPlans(null)) {
      plans.add(List.of(
          plan.getSlug(), plan.getAmountCents(), plan.getInterval(), plan.getItems().get(0).getTitle()));
    }
    report.put("plans", plans);
    System.out.println(Library.json(report));
    // The libraries' threads would keep the process for a minute.
    System.exit(0);
  }
}
