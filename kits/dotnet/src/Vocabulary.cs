namespace Leads;

/// <summary>The terms that the service recognizes. Others are accepted, too, and flagged.</summary>
/// <param name="Areas">The terms of <see cref="Lead.ProjectArea"/>.</param>
/// <param name="Services">The values of <see cref="Lead.ProjectService"/>.</param>
/// <param name="Required">The fields that a lead must have, by their names on the wire.</param>
public sealed record Vocabulary(
    IReadOnlyList<VocabularyArea> Areas,
    IReadOnlyList<string> Services,
    IReadOnlyList<string> Required);

/// <summary>A term of <see cref="Lead.ProjectArea"/>.</summary>
/// <param name="Area">The term.</param>
/// <param name="Status"><c>confirmed</c> or <c>proposed</c>; both are accepted alike.</param>
public sealed record VocabularyArea(string Area, string Status);
