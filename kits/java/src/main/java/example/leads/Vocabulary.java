package example.leads;

import java.util.List;
import java.util.Objects;

/** The terms that the service knows. Immutable. */
public final class Vocabulary {

  private final List<Area> areas;
  private final List<String> services;
  private final List<String> required;

  Vocabulary(List<Area> areas, List<String> services, List<String> required) {
    this.areas = List.copyOf(areas);
    this.services = List.copyOf(services);
    this.required = List.copyOf(required);
  }

  /**
   * Lists the terms for {@code project_area}. Any other is stored as sent, and flagged.
   *
   * @return the areas, in the service's order
   */
  public List<Area> areas() {
    return areas;
  }

  /**
   * Lists the terms for {@code project_service}.
   *
   * @return the services, in the service's order
   */
  public List<String> services() {
    return services;
  }

  /**
   * Lists the fields that a lead must have.
   *
   * @return names of fields
   */
  public List<String> required() {
    return required;
  }

  @Override
  public String toString() {
    return "Vocabulary["
        + areas.size()
        + " areas, "
        + services.size()
        + " services, "
        + required.size()
        + " required fields]";
  }

  /** A term for {@code project_area}. */
  public static final class Area {
    private final String area;
    private final String status;

    Area(String area, String status) {
      this.area = area;
      this.status = status;
    }

    /**
     * Tells the term.
     *
     * @return what to send as {@code project_area}
     */
    public String area() {
      return area;
    }

    /**
     * Tells how settled the term is; both are accepted alike.
     *
     * @return {@code confirmed}, {@code proposed}, or what may come later
     */
    public String status() {
      return status;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Area
          && area.equals(((Area) other).area)
          && status.equals(((Area) other).status);
    }

    @Override
    public int hashCode() {
      return Objects.hash(area, status);
    }

    @Override
    public String toString() {
      return "Area[" + area + ", " + status + "]";
    }
  }
}
