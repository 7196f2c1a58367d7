package example.leads;

import java.math.BigDecimal;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A lead as it will be posted. Immutable.
 *
 * <p>It is sent as given: the service normalizes and validates it, this class does neither. The
 * known fields have setters of their own; any other is {@link Builder#set set} by its name.
 */
public final class Lead {

  private final Map<String, Object> fields;

  private Lead(Map<String, Object> fields) {
    this.fields = Collections.unmodifiableMap(new LinkedHashMap<>(fields));
  }

  /**
   * Begins a lead.
   *
   * @return a builder without fields
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Begins a lead with the fields of this one, to correct some of them.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.fields.putAll(fields);
    return builder;
  }

  /**
   * Tells all fields by the names they have on the wire.
   *
   * @return an unmodifiable map in the order in which the fields were set
   */
  public Map<String, Object> fields() {
    return fields;
  }

  byte[] toJson() {
    return Json.write(fields);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Lead && fields.equals(((Lead) other).fields);
  }

  @Override
  public int hashCode() {
    return fields.hashCode();
  }

  /**
   * Tells how many fields there are, and nothing of what is in them: a lead is somebody's data.
   *
   * @return a text for logs
   */
  @Override
  public String toString() {
    return "Lead[" + fields.size() + " fields]";
  }

  /**
   * Builds a {@link Lead}. A typed setter given null leaves its field out. Not safe for use by
   * several threads at once.
   */
  public static final class Builder {
    private final Map<String, Object> fields = new LinkedHashMap<>();

    private Builder() {}

    /**
     * Sets the given name; the service requires it.
     *
     * @param firstName any text
     * @return this builder
     */
    public Builder firstName(String firstName) {
      return setOrLeaveOut("first_name", firstName);
    }

    /**
     * Sets the surname; the service requires it.
     *
     * @param lastName any text
     * @return this builder
     */
    public Builder lastName(String lastName) {
      return setOrLeaveOut("last_name", lastName);
    }

    /**
     * Sets the telephone number; the service requires it.
     *
     * @param phone in any format
     * @return this builder
     */
    public Builder phone(String phone) {
      return setOrLeaveOut("phone", phone);
    }

    /**
     * Sets the e-mail address.
     *
     * @param email any text
     * @return this builder
     */
    public Builder email(String email) {
      return setOrLeaveOut("email", email);
    }

    /**
     * Sets the street line of the job's address.
     *
     * @param streetAddress any text
     * @return this builder
     */
    public Builder streetAddress(String streetAddress) {
      return setOrLeaveOut("street_address", streetAddress);
    }

    /**
     * Sets the city of the job's address.
     *
     * @param city any text
     * @return this builder
     */
    public Builder city(String city) {
      return setOrLeaveOut("city", city);
    }

    /**
     * Sets the state or province.
     *
     * @param state a code of two letters for the US and Canada, any text elsewhere
     * @return this builder
     */
    public Builder state(String state) {
      return setOrLeaveOut("state", state);
    }

    /**
     * Sets the ZIP or postal code.
     *
     * @param zip any text
     * @return this builder
     */
    public Builder zip(String zip) {
      return setOrLeaveOut("zip", zip);
    }

    /**
     * Sets the country; the service takes {@code US} when there is none.
     *
     * @param country a code of two letters (ISO 3166)
     * @return this builder
     */
    public Builder country(String country) {
      return setOrLeaveOut("country", country);
    }

    /**
     * Sets which part of the home it is about.
     *
     * @param projectArea your own term, or one of {@link Vocabulary#areas}
     * @return this builder
     */
    public Builder projectArea(String projectArea) {
      return setOrLeaveOut("project_area", projectArea);
    }

    /**
     * Sets what is to be done.
     *
     * @param projectService one of {@link Vocabulary#services}
     * @return this builder
     */
    public Builder projectService(String projectService) {
      return setOrLeaveOut("project_service", projectService);
    }

    /**
     * Sets the material.
     *
     * @param projectMaterial any text
     * @return this builder
     */
    public Builder projectMaterial(String projectMaterial) {
      return setOrLeaveOut("project_material", projectMaterial);
    }

    /**
     * Sets the homeowner's own description; line breaks are kept.
     *
     * @param projectDetails any text
     * @return this builder
     */
    public Builder projectDetails(String projectDetails) {
      return setOrLeaveOut("project_details", projectDetails);
    }

    /**
     * Sets your own id of the lead. It is recorded; what keeps a lead from being stored twice is
     * the idempotency key.
     *
     * @param externalId any text
     * @return this builder
     */
    public Builder externalId(String externalId) {
      return setOrLeaveOut("external_id", externalId);
    }

    /**
     * Sets what the contact costs.
     *
     * @param cost in US dollars, sent digit for digit; leave it out when there is no charge
     * @return this builder
     */
    public Builder cost(BigDecimal cost) {
      return setOrLeaveOut("cost", cost);
    }

    /**
     * Sets any field by its name on the wire, known to this kit or not.
     *
     * @param name the name, for example {@code campaign}
     * @param value a string, a number (sent digit for digit), a boolean, null (sent as {@code
     *     null}), or a list or map of such, which is copied
     * @return this builder
     * @throws MisconfiguredException if JSON cannot hold it, or if it is nested over 500 deep
     */
    public Builder set(String name, Object value) {
      if (name == null) {
        throw new MisconfiguredException("A field needs a name");
      }
      fields.put(name, Json.copy(value));
      return this;
    }

    /**
     * Sets any fields by their names on the wire.
     *
     * @param fields names and values, as {@link #set} takes them
     * @return this builder
     * @throws MisconfiguredException as {@link #set} throws it
     */
    public Builder setAll(Map<String, ?> fields) {
      fields.forEach(this::set);
      return this;
    }

    /**
     * Makes the lead.
     *
     * @return an immutable lead
     */
    public Lead build() {
      return new Lead(fields);
    }

    private Builder setOrLeaveOut(String name, Object value) {
      if (value == null) {
        fields.remove(name);
        return this;
      }
      return set(name, value);
    }

    /**
     * Tells how many fields are set, and nothing of what is in them.
     *
     * @return a text for logs
     */
    @Override
    public String toString() {
      return "Lead.Builder[" + fields.size() + " fields]";
    }
  }
}
