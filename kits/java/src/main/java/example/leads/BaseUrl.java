package example.leads;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.regex.Pattern;

/** The address of the service, checked once. Its path, if it has one, ends without a slash. */
final class BaseUrl {

  private static final int PORT_MAX = 65_535;

  /**
   * Four decimal numbers: the short and octal forms of addresses are read differently elsewhere.
   */
  private static final Pattern LOOPBACK_IPV4 =
      Pattern.compile("127(\\.(0|[1-9]\\d?|1\\d\\d|2[0-4]\\d|25[0-5])){3}");

  private final String value;

  private BaseUrl(String value) {
    this.value = value;
  }

  static BaseUrl of(String given) {
    URI uri;
    try {
      uri = new URI(given);
    } catch (URISyntaxException e) {
      // Neither the cause nor its message goes on: both quote the address, and with it a password.
      throw new MisconfiguredException("The base address is no URL");
    }
    String scheme = uri.getScheme() == null ? "" : uri.getScheme().toLowerCase(Locale.ROOT);
    if (!scheme.equals("https") && !scheme.equals("http")) {
      throw new MisconfiguredException("The base address has to start with https://");
    }
    String authority = uri.getRawAuthority();
    if (authority != null && authority.indexOf('@') >= 0) {
      throw new MisconfiguredException("The base address must not have user information");
    }
    if (uri.getRawQuery() != null || uri.getRawFragment() != null) {
      throw new MisconfiguredException("The base address must not have a query or a fragment");
    }
    if (uri.isOpaque() || uri.getHost() == null || uri.getPort() == 0 || uri.getPort() > PORT_MAX) {
      throw new MisconfiguredException("The base address has no host, or an impossible port");
    }
    if (scheme.equals("http") && !isThisMachine(uri.getHost())) {
      throw new MisconfiguredException(
          "The base address has to start with https://: http:// would show the key on the way");
    }
    String path = uri.getRawPath();
    if (path.endsWith("/")) {
      path = path.substring(0, path.length() - 1);
    }
    return new BaseUrl(scheme + "://" + authority + path);
  }

  private static boolean isThisMachine(String host) {
    return host.equalsIgnoreCase("localhost")
        || host.equals("[::1]")
        || LOOPBACK_IPV4.matcher(host).matches();
  }

  /** Whether what is sent there may leave this machine. */
  boolean isEncrypted() {
    return value.startsWith("https:");
  }

  URI resolve(String path) {
    return URI.create(value + path);
  }

  @Override
  public String toString() {
    return value;
  }
}
