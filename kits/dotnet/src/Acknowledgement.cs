namespace Leads;

/// <summary>Whether the service stored a lead now or had stored it before.</summary>
public enum LeadStatus
{
    /// <summary>The lead was stored.</summary>
    Accepted,

    /// <summary>The idempotency key was used before, and its lead is stored. No second one was made.</summary>
    Duplicate,
}

/// <summary>The service's promise: the lead is on disk and will be delivered.</summary>
/// <param name="EventId">Identifies the lead in support. Keep it with your record of the lead.</param>
/// <param name="Status">Whether the lead was stored now or before.</param>
/// <param name="ReceivedAt">When the service received the lead: UTC, ISO 8601.</param>
/// <param name="Source">The label of your key.</param>
/// <param name="Flags">Observations such as <c>phone_unnormalized</c>. Never retry because of a flag.</param>
/// <param name="RequestId">The <c>X-Request-Id</c> that was sent.</param>
/// <param name="Tries">How many tries the call spent. A 429 spends none.</param>
public sealed record Acknowledgement(
    string EventId,
    LeadStatus Status,
    string ReceivedAt,
    string Source,
    IReadOnlyList<string> Flags,
    string RequestId,
    int Tries);

/// <summary>What the service says of a key.</summary>
public enum KeyVerdict
{
    /// <summary>The key is active.</summary>
    Valid,

    /// <summary>The service does not know the key, or it was revoked.</summary>
    Invalid,
}

/// <summary>The outcome of a key check.</summary>
/// <param name="Verdict">Whether the key is active.</param>
/// <param name="RequestId">The <c>X-Request-Id</c> that was sent.</param>
/// <param name="Tries">How many tries the call spent. A 429 spends none.</param>
public sealed record KeyCheck(KeyVerdict Verdict, string RequestId, int Tries);
