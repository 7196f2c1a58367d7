using System.Net.Http.Headers;

namespace Leads;

/// <summary>How long to wait between two tries.</summary>
internal static class Waits
{
    private static readonly TimeSpan First = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan Max = TimeSpan.FromSeconds(30);

    /// <summary>Before the n-th retry: 1 s doubled up to 30 s, half of it jitter; a Retry-After of a 5xx is a floor.</summary>
    internal static TimeSpan BeforeRetry(int retry, double random, TimeSpan? retryAfter)
    {
        var wait = Scale(Double(First, retry - 1), (1 + Clamp(random)) / 2);
        return retryAfter > wait ? retryAfter.Value : wait;
    }

    /// <summary>After the n-th 429 in a row: what it asks for, doubled up to 30 s, and jitter of up to a quarter on top.</summary>
    internal static TimeSpan AfterRateLimit(int inARow, double random, TimeSpan? retryAfter)
    {
        var asked = retryAfter > First ? retryAfter.Value : First;
        var grown = Double(asked, inARow - 1);
        return Scale(grown > asked ? grown : asked, 1 + (Clamp(random) / 4));
    }

    /// <summary>Whole seconds, or the time until an HTTP date; null when unreadable or absent.</summary>
    internal static TimeSpan? RetryAfter(HttpResponseHeaders headers, DateTimeOffset now)
    {
        if (!headers.NonValidated.TryGetValues("Retry-After", out var values))
        {
            return null;
        }

        var text = values.First().Trim(' ', '\t');
        if (text.Length > 0 && !text.AsSpan().ContainsAnyExceptInRange('0', '9'))
        {
            return long.TryParse(text, out var seconds) && seconds < TimeSpan.MaxValue.TotalSeconds
                ? TimeSpan.FromSeconds((double)seconds)
                : TimeSpan.MaxValue;
        }

        if (!RetryConditionHeaderValue.TryParse(text, out var parsed) || parsed.Date is not { } date)
        {
            return null;
        }

        return date > now ? date - now : TimeSpan.Zero;
    }

    private static TimeSpan Double(TimeSpan wait, int times)
    {
        for (; times > 0 && wait < Max; times--)
        {
            wait *= 2;
        }

        return wait < Max ? wait : Max;
    }

    private static TimeSpan Scale(TimeSpan wait, double factor) =>
        wait.Ticks * factor < TimeSpan.MaxValue.Ticks ? wait * factor : TimeSpan.MaxValue;

    private static double Clamp(double random) => random >= 0 ? Math.Min(random, 1) : 0;
}
