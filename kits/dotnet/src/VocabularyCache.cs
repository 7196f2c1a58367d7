using System.Net.Http.Headers;

namespace Leads;

/// <summary>The last vocabulary, for as long as the service allows. Of many callers one asks.</summary>
internal sealed class VocabularyCache(TimeProvider clock) : IDisposable
{
    private const int ETagCharsMax = 1000;
    private static readonly TimeSpan MaxAgeMax = TimeSpan.FromDays(1);

    private readonly SemaphoreSlim _turn = new(1);
    private Vocabulary? _last;
    private string? _etag;
    private TimeSpan _maxAge;
    private long _asked;

    public void Dispose() => _turn.Dispose();

    internal async Task<Vocabulary> GetAsync(Call call, Uri url, CancellationToken cancellationToken)
    {
        try
        {
            if (!await _turn.WaitAsync(call.Remaining, cancellationToken).ConfigureAwait(false))
            {
                throw call.Unavailable("The deadline passed while another call asked for the vocabulary.");
            }
        }
        catch (OperationCanceledException)
        {
            throw call.Canceled();
        }

        try
        {
            return _last is not null && clock.GetElapsedTime(_asked) < _maxAge
                ? _last
                : await AskAsync(call, url).ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    private async Task<Vocabulary> AskAsync(Call call, Uri url)
    {
        var template = new RequestTemplate(HttpMethod.Get, url, call.RequestId) { IfNoneMatch = _etag };
        var asked = clock.GetTimestamp();
        Answer? settled = null;
        var vocabulary = await call.RunAsync(template, answer =>
        {
            settled = answer;
            return answer.Status == 304 && _etag is not null ? _last : answer.ReadVocabulary();
        }).ConfigureAwait(false);

        var isFresh = settled!.Status == 200;
        if (isFresh || settled.Headers.CacheControl is not null)
        {
            _maxAge = MaxAge(settled.Headers.CacheControl);
        }

        if (isFresh || settled.Headers.NonValidated.Contains("ETag"))
        {
            _etag = ETag(settled.Headers);
        }

        _last = vocabulary;
        _asked = asked;
        return vocabulary;
    }

    private static TimeSpan MaxAge(CacheControlHeaderValue? control)
    {
        if (control is null or { NoStore: true } or { NoCache: true })
        {
            return TimeSpan.Zero;
        }

        var age = control.MaxAge ?? TimeSpan.Zero;
        return age < MaxAgeMax ? age : MaxAgeMax;
    }

    /// <summary>A tag that can be sent back as it came; null for any other.</summary>
    private static string? ETag(HttpResponseHeaders headers) =>
        headers.NonValidated.TryGetValues("ETag", out var values)
        && Arguments.IsHeaderText(values.ToString(), ETagCharsMax)
            ? values.ToString()
            : null;
}
