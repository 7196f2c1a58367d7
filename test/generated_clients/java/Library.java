import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.JSON;
import org.openapitools.client.api.FormsApi;
import org.openapitools.client.api.HealthApi;
import org.openapitools.client.api.IntakeApi;
import org.openapitools.client.api.PlansApi;
import org.openapitools.client.model.ErrorBody;

/** What is particular to the generator's default library, okhttp-gson. */
class Library {
  final IntakeApi intake;
  final FormsApi forms;
  final HealthApi health;
  final PlansApi plans;

  Library(String url, String key) {
    ApiClient client = new ApiClient().setBasePath(url);
    client.setApiKey(key);
    intake = new IntakeApi(client);
    forms = new FormsApi(client);
    health = new HealthApi(client);
    plans = new PlansApi(client);
    // What has servers of its own in the document goes there, unless it is told otherwise.
    forms.setCustomBaseUrl(url);
    health.setCustomBaseUrl(url);
    plans.setCustomBaseUrl(url);
  }

  static Map<String, Object> refused(ApiException error) {
    ErrorBody found = JSON.deserialize(error.getResponseBody(), ErrorBody.class);
    List<String> sent = error.getResponseHeaders().get("x-request-id");
    return Map.of(
        "http", error.getCode(),
        "error", found.getError(),
        "is_named", sent != null && sent.get(0).equals(found.getRequestId()),
        "fields", found.getFields() == null ? Map.of() : new TreeMap<>(found.getFields()));
  }

  static String json(Object report) {
    return JSON.serialize(report);
  }
}
