using System.Buffers;
using System.Collections.ObjectModel;
using System.Net;
using System.Net.Http.Headers;
using System.Text.Json;

namespace Leads;

/// <summary>A whole answer, and what the contract reads from it. A stranger may have sent it.</summary>
internal sealed class Answer
{
    /// <summary>The longest body that is read, after transfer decoding.</summary>
    internal const int BytesMax = 1 << 20;

    private const int DepthMax = 1000;
    private const int CodeCharsMax = 64;
    private static readonly SearchValues<char> CodeChars = SearchValues.Create("abcdefghijklmnopqrstuvwxyz_");

    private readonly Dictionary<string, JsonElement> _members;

    internal Answer(HttpStatusCode status, HttpResponseHeaders headers, ReadOnlyMemory<byte> body)
    {
        Status = (int)status;
        Headers = headers;
        _members = ReadMembers(body);
    }

    internal int Status { get; }

    internal HttpResponseHeaders Headers { get; }

    /// <summary>The code of an error of the service's. Anything else may be what was sent to a stranger.</summary>
    internal string? Code =>
        ReadString(_members, "error") is { Length: > 0 and <= CodeCharsMax } code
            && !code.AsSpan().ContainsAnyExcept(CodeChars)
            ? code
            : null;

    /// <summary>What an error of the service's says is wrong.</summary>
    internal string? Detail => Code is null ? null : ReadString(_members, "detail");

    /// <summary>The failing fields; null when the answer names none.</summary>
    internal IReadOnlyDictionary<string, string>? Fields
    {
        get
        {
            if (!_members.TryGetValue("fields", out var fields) || fields.ValueKind != JsonValueKind.Object)
            {
                return null;
            }

            var read = new Dictionary<string, string>();
            foreach (var field in fields.EnumerateObject())
            {
                if (ReadString(field.Value) is not { } reason)
                {
                    return null;
                }

                read[field.Name] = reason;
            }

            return read;
        }
    }

    /// <summary>Null for what is not a valid acknowledgement.</summary>
    internal Acknowledgement? ReadAcknowledgement(string requestId, int tries)
    {
        if (Status is not (200 or 202)
            || ReadString(_members, "event_id") is not { Length: > 0 } eventId
            || ReadStatus(ReadString(_members, "status")) is not { } status
            || ReadString(_members, "received_at") is not { } receivedAt
            || ReadString(_members, "source") is not { } source
            || ReadStrings("flags") is not { } flags)
        {
            return null;
        }

        return new Acknowledgement(eventId, status, receivedAt, source, flags, requestId, tries);
    }

    /// <summary>Null for what is not a vocabulary.</summary>
    internal Vocabulary? ReadVocabulary()
    {
        if (Status != 200
            || ReadStrings("project_service") is not { } services
            || ReadStrings("required") is not { } required
            || !_members.TryGetValue("project_area", out var items)
            || items.ValueKind != JsonValueKind.Array)
        {
            return null;
        }

        var areas = new List<VocabularyArea>();
        foreach (var item in items.EnumerateArray())
        {
            var members = ReadMembers(item);
            if (ReadString(members, "area") is not { } area || ReadString(members, "status") is not { } status)
            {
                return null;
            }

            areas.Add(new VocabularyArea(area, status));
        }

        return new Vocabulary(areas.AsReadOnly(), services, required);
    }

    private static LeadStatus? ReadStatus(string? status) => status switch
    {
        "accepted" => LeadStatus.Accepted,
        "duplicate" => LeadStatus.Duplicate,
        _ => null,
    };

    /// <summary>The members of the body; none when it is not a JSON object.</summary>
    private static Dictionary<string, JsonElement> ReadMembers(ReadOnlyMemory<byte> body)
    {
        try
        {
            var options = new JsonDocumentOptions { MaxDepth = DepthMax };
            using var document = JsonDocument.Parse(body, options);
            return ReadMembers(document.RootElement.Clone());
        }
        catch (JsonException)
        {
            return [];
        }
    }

    private static Dictionary<string, JsonElement> ReadMembers(JsonElement value)
    {
        var members = new Dictionary<string, JsonElement>();
        if (value.ValueKind == JsonValueKind.Object)
        {
            try
            {
                foreach (var member in value.EnumerateObject())
                {
                    members[member.Name] = member.Value;
                }
            }
            catch (InvalidOperationException)
            {
                // A name that is not Unicode.
            }
        }

        return members;
    }

    private static string? ReadString(Dictionary<string, JsonElement> members, string name) =>
        members.TryGetValue(name, out var value) ? ReadString(value) : null;

    /// <summary>A JSON string and nothing else; null for text that is not Unicode.</summary>
    private static string? ReadString(JsonElement value)
    {
        try
        {
            return value.ValueKind == JsonValueKind.String ? value.GetString() : null;
        }
        catch (InvalidOperationException)
        {
            return null;
        }
    }

    private ReadOnlyCollection<string>? ReadStrings(string name)
    {
        if (!_members.TryGetValue(name, out var values) || values.ValueKind != JsonValueKind.Array)
        {
            return null;
        }

        var read = new List<string>(values.GetArrayLength());
        foreach (var value in values.EnumerateArray())
        {
            if (ReadString(value) is not { } text)
            {
                return null;
            }

            read.Add(text);
        }

        return read.AsReadOnly();
    }
}
