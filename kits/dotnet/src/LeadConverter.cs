using System.Buffers;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.Json.Serialization;

namespace Leads;

/// <summary>
/// Reads and writes a lead without loss: what a property cannot hold, such as null or another type, stays in
/// <see cref="Lead.Extra"/>. Written by hand, because .NET 8 writes invalid JSON for extension data in a
/// <see cref="JsonObject"/>.
/// </summary>
internal sealed class LeadConverter : JsonConverter<Lead>
{
    private static readonly (string Name, Func<Lead, string?> Get)[] Texts =
    [
        ("first_name", lead => lead.FirstName),
        ("last_name", lead => lead.LastName),
        ("phone", lead => lead.Phone),
        ("email", lead => lead.Email),
        ("street_address", lead => lead.StreetAddress),
        ("city", lead => lead.City),
        ("state", lead => lead.State),
        ("zip", lead => lead.Zip),
        ("country", lead => lead.Country),
        ("project_area", lead => lead.ProjectArea),
        ("project_service", lead => lead.ProjectService),
        ("project_material", lead => lead.ProjectMaterial),
        ("project_details", lead => lead.ProjectDetails),
        ("external_id", lead => lead.ExternalId),
    ];

    private static readonly JsonWriterOptions Wire = new()
    {
        // Text goes out as UTF-8: the body cap counts bytes, and nothing here ends up in HTML.
        Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
    };

    public override Lead Read(ref Utf8JsonReader reader, Type typeToConvert, JsonSerializerOptions options)
    {
        try
        {
            return JsonNode.Parse(ref reader) is JsonObject members
                ? FromMembers(members)
                : throw new JsonException("A lead is a JSON object.");
        }
        catch (Exception e) when (e is ArgumentException or InvalidOperationException)
        {
            throw new JsonException("The lead has a name twice, or text that is not Unicode.");
        }
    }

    public override void Write(Utf8JsonWriter writer, Lead value, JsonSerializerOptions options) => Write(writer, value);

    /// <summary>The body that posts a lead.</summary>
    /// <exception cref="MisconfiguredException">JSON cannot express the lead, or it has a name twice.</exception>
    internal static byte[] Body(Lead lead)
    {
        var body = new ArrayBufferWriter<byte>();
        try
        {
            using var writer = new Utf8JsonWriter(body, Wire);
            Write(writer, lead);
        }
        // Their messages may quote the lead.
        catch (Exception e) when (e is JsonException or NotSupportedException or InvalidOperationException
            or ArgumentException)
        {
            throw new MisconfiguredException(
                "The lead holds a value that JSON cannot express, or its Extra repeats a property that is set.");
        }

        return body.WrittenSpan.ToArray();
    }

    private static Lead FromMembers(JsonObject extra)
    {
        return new Lead
        {
            FirstName = Text("first_name"),
            LastName = Text("last_name"),
            Phone = Text("phone"),
            Email = Text("email"),
            StreetAddress = Text("street_address"),
            City = Text("city"),
            State = Text("state"),
            Zip = Text("zip"),
            Country = Text("country"),
            ProjectArea = Text("project_area"),
            ProjectService = Text("project_service"),
            ProjectMaterial = Text("project_material"),
            ProjectDetails = Text("project_details"),
            ExternalId = Text("external_id"),
            Cost = Take("cost", JsonValueKind.Number) is { } cost ? (decimal)cost : null,
            Extra = extra.Count > 0 ? extra : null,
        };

        string? Text(string name) => (string?)Take(name, JsonValueKind.String);

        JsonNode? Take(string name, JsonValueKind kind)
        {
            var member = extra[name];
            return member?.GetValueKind() == kind && extra.Remove(name) ? member : null;
        }
    }

    private static void Write(Utf8JsonWriter writer, Lead lead)
    {
        writer.WriteStartObject();
        foreach (var (name, get) in Texts)
        {
            if (get(lead) is { } text)
            {
                RefuseTwice(name);
                writer.WriteString(name, text);
            }
        }

        if (lead.Cost is { } cost)
        {
            RefuseTwice("cost");
            writer.WriteNumber("cost", cost);
        }

        foreach (var (name, value) in lead.Extra ?? [])
        {
            writer.WritePropertyName(name);
            if (value is null)
            {
                writer.WriteNullValue();
            }
            else
            {
                value.WriteTo(writer);
            }
        }

        writer.WriteEndObject();

        void RefuseTwice(string name)
        {
            if (lead.Extra?.ContainsKey(name) == true)
            {
                throw new JsonException("Extra repeats a property that is set.");
            }
        }
    }
}
