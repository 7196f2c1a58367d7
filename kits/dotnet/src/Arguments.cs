using System.Buffers;
using System.Net;

namespace Leads;

/// <summary>Checks what a caller gives. Every refusal is a <see cref="MisconfiguredException"/> that shows none of it.</summary>
internal static class Arguments
{
    private const int KeyRandomChars = 32;
    private const int KeyChecksumChars = 6;
    private const int IdempotencyKeyCharsMax = 200;
    private const int RequestIdCharsMax = 64;
    private const string Base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    private static readonly SearchValues<char> Base62Chars = SearchValues.Create(Base62);

    internal static string ApiKey(string? key)
    {
        key ??= Environment.GetEnvironmentVariable("LEADS_API_KEY");
        if (string.IsNullOrEmpty(key))
        {
            throw new MisconfiguredException("There is no key: set ApiKey or LEADS_API_KEY.");
        }

        if (key.StartsWith("form_live_", StringComparison.Ordinal)
            || key.StartsWith("form_test_", StringComparison.Ordinal))
        {
            throw new MisconfiguredException(
                "This is a forms key; leads need one that starts with lead_live_ or lead_test_.");
        }

        const int prefixChars = 10;
        if (!key.StartsWith("lead_live_", StringComparison.Ordinal)
            && !key.StartsWith("lead_test_", StringComparison.Ordinal))
        {
            throw new MisconfiguredException("The key does not start with lead_live_ or lead_test_.");
        }

        const int checkedChars = prefixChars + KeyRandomChars;
        if (key.Length != checkedChars + KeyChecksumChars
            || key.AsSpan(prefixChars).ContainsAnyExcept(Base62Chars)
            || !key.AsSpan(checkedChars).SequenceEqual(Checksum(key.AsSpan(0, checkedChars))))
        {
            throw new MisconfiguredException("The key was mistyped or cut off.");
        }

        return key;
    }

    internal static Uri BaseUrl(string? address)
    {
        address ??= Environment.GetEnvironmentVariable("LEADS_BASE_URL");
        if (string.IsNullOrEmpty(address))
        {
            throw new MisconfiguredException("There is no address: set BaseUrl or LEADS_BASE_URL.");
        }

        // Uri alone would trim spaces, take a backslash for a slash, and make do without an authority.
        if (address.AsSpan().ContainsAnyExceptInRange('!', '~')
            || address.Contains('\\', StringComparison.Ordinal)
            || address.Split('/') is not [_, "", { Length: > 0 } authority, ..]
            || !Uri.TryCreate(address.TrimEnd('/') + "/", UriKind.Absolute, out var url)
            || url.Port == 0)
        {
            throw new MisconfiguredException("The address is not a URL such as https://leads.example.");
        }

        if (authority.Contains('@', StringComparison.Ordinal) || address.AsSpan().IndexOfAny("?#") >= 0)
        {
            throw new MisconfiguredException("The address has user information, a query or a fragment.");
        }

        if (url.Scheme != Uri.UriSchemeHttps && !(url.Scheme == Uri.UriSchemeHttp && IsThisMachine(url, authority)))
        {
            throw new MisconfiguredException(
                "The address does not start with https://; http:// would show the key, and is for this machine only.");
        }

        return url;
    }

    internal static string IdempotencyKey(string? key) =>
        IsHeaderText(key, IdempotencyKeyCharsMax) ? key! : throw new MisconfiguredException(
            "The idempotency key is empty, begins or ends with a space, is longer than 200 characters, "
            + "or is not printable ASCII.");

    internal static string IdempotencyKey(string? @namespace, string? id)
    {
        if (string.IsNullOrWhiteSpace(@namespace) || string.IsNullOrWhiteSpace(id))
        {
            throw new MisconfiguredException("An idempotency key needs a namespace and an id that are not blank.");
        }

        return IdempotencyKey($"{@namespace}:{id}");
    }

    internal static string RequestId(string id) =>
        IsHeaderText(id, RequestIdCharsMax) ? id : throw new MisconfiguredException(
            "The request id is empty, begins or ends with a space, is longer than 64 characters, "
            + "or is not printable ASCII.");

    /// <summary>Whether HTTP carries a text unchanged: printable ASCII, no space at either end.</summary>
    internal static bool IsHeaderText(string? text, int charsMax) =>
        !string.IsNullOrEmpty(text)
        && text.Length <= charsMax
        && !text.AsSpan().ContainsAnyExceptInRange(' ', '~')
        && text[0] != ' '
        && text[^1] != ' ';

    /// <summary>Only names and numbers that need no look-up, spelled as usual: Uri takes 0x7f.1 for a loopback address.</summary>
    private static bool IsThisMachine(Uri url, string authority)
    {
        if (url.Host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
        {
            return true;
        }

        return IPAddress.TryParse(url.Host, out var ip)
            && IPAddress.IsLoopback(ip)
            && authority.StartsWith(url.Host, StringComparison.Ordinal);
    }

    /// <summary>CRC-32 (IEEE 802.3) in base62, the most significant digit first.</summary>
    private static string Checksum(ReadOnlySpan<char> text)
    {
        var crc = uint.MaxValue;
        foreach (var c in text)
        {
            crc ^= c;
            for (var bit = 0; bit < 8; bit++)
            {
                crc = (crc >> 1) ^ (0xEDB88320 & (0 - (crc & 1)));
            }
        }

        crc = ~crc;
        return string.Create(KeyChecksumChars, crc, static (digits, rest) =>
        {
            for (var i = digits.Length - 1; i >= 0; i--)
            {
                (rest, var digit) = Math.DivRem(rest, 62);
                digits[i] = Base62[(int)digit];
            }
        });
    }
}
