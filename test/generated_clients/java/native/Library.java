import com.fasterxml.jackson.core.JsonProcessingException;
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

/** The library {@code native}: java.net.http and Jackson. */
class Library {
  final IntakeApi intake;
  final FormsApi forms;
  final HealthApi health;
  final PlansApi plans;

  Library(String url, String key) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(url);
    client.setRequestInterceptor(request -> request.setHeader("X-API-Key", key));
    intake = new IntakeApi(client);
    forms = new FormsApi(client);
    health = new HealthApi(client);
    plans = new PlansApi(client);
  }

  static Map<String, Object> refused(ApiException error) {
    try {
      ErrorBody found = JSON.getDefault().getMapper().readValue(error.getResponseBody(), ErrorBody.class);
      String sent = error.getResponseHeaders().firstValue("x-request-id").orElse("");
      return Map.of(
          "http", error.getCode(),
          "error", found.getError(),
          "is_named", sent.equals(found.getRequestId()),
          "fields", found.getFields() == null ? Map.of() : new TreeMap<>(found.getFields()));
    } catch (JsonProcessingException unread) {
      throw new IllegalStateException(unread);
    }
  }

  static String json(Object report) {
    try {
      return JSON.getDefault().getMapper().writeValueAsString(report);
    } catch (JsonProcessingException unwritten) {
      throw new IllegalStateException(unwritten);
    }
  }
}
