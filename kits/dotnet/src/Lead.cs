using System.Diagnostics;
using System.Text.Json.Nodes;
using System.Text.Json.Serialization;

namespace Leads;

/// <summary>
/// A lead as it is posted. Properties that are null are left out. The service normalizes and validates;
/// the kit does neither.
/// </summary>
/// <remarks>
/// <see cref="System.Text.Json.JsonSerializer"/> reads and writes a lead as it appears on the wire.
/// <see cref="ToString"/> shows none of its content.
/// </remarks>
[DebuggerDisplay("{ToString(),nq}")]
[JsonConverter(typeof(LeadConverter))]
public sealed record Lead
{
    /// <summary>Given name. Required by the service.</summary>
    public string? FirstName { get; init; }

    /// <summary>Surname. Required by the service.</summary>
    public string? LastName { get; init; }

    /// <summary>Phone number in any format. Required by the service.</summary>
    public string? Phone { get; init; }

    /// <summary>Email address.</summary>
    public string? Email { get; init; }

    /// <summary>Street line of the job address.</summary>
    public string? StreetAddress { get; init; }

    /// <summary>City of the job address.</summary>
    public string? City { get; init; }

    /// <summary>State or province: a two-letter code in the US and Canada, free text elsewhere.</summary>
    public string? State { get; init; }

    /// <summary>ZIP or postal code.</summary>
    public string? Zip { get; init; }

    /// <summary>Country, ISO 3166 alpha-2. The service assumes <c>US</c> when it is null.</summary>
    public string? Country { get; init; }

    /// <summary>Part of the home: your own term, or one of <see cref="Vocabulary.Areas"/>.</summary>
    public string? ProjectArea { get; init; }

    /// <summary>One of <see cref="Vocabulary.Services"/>.</summary>
    public string? ProjectService { get; init; }

    /// <summary>Material.</summary>
    public string? ProjectMaterial { get; init; }

    /// <summary>The homeowner's own description. Line breaks are kept.</summary>
    public string? ProjectDetails { get; init; }

    /// <summary>Your own id of the lead. It is recorded; only the idempotency key prevents duplicates.</summary>
    public string? ExternalId { get; init; }

    /// <summary>What the contact cost, in US dollars, sent digit for digit. Null when there is no charge.</summary>
    public decimal? Cost { get; init; }

    /// <summary>
    /// Members under any other name, sent beside the properties; numbers keep their digits. It may hold the
    /// name of a property only while that property is null.
    /// </summary>
    public JsonObject? Extra { get; init; }

    /// <summary>A fixed text: a lead is personal data.</summary>
    public override string ToString() => "Lead (content withheld)";
}
