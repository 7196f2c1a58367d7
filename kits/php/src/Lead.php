<?php

declare(strict_types=1);

namespace Leads;

/**
 * A lead, by named arguments. It is sent as it is: the service alone normalizes and checks, so nothing is required
 * here. A null is left out.
 *
 *     new Lead(firstName: 'Ada', lastName: 'Lovelace', phone: '+1 415 555 0123', cost: '12.50')
 */
final class Lead implements \JsonSerializable
{
    /** The names on the wire of all fields that this class knows. */
    public const FIELDS = [
        'first_name',
        'last_name',
        'phone',
        'email',
        'street_address',
        'city',
        'state',
        'zip',
        'country',
        'project_area',
        'project_service',
        'project_material',
        'project_details',
        'external_id',
        'cost',
    ];

    /** US dollars, 0.01 to 999.99: what the contact cost; null when there is no charge. */
    public readonly ?Decimal $cost;

    /**
     * @param string|null $phone in any format
     * @param string|null $projectArea which part of the home; a term of the vocabulary, or your own
     * @param string|null $projectService replacement, repair, remodel or maintain
     * @param string|null $projectDetails the homeowner's own words; line breaks are kept
     * @param string|null $externalId your id of the lead
     * @param Decimal|string|int|float|null $cost US dollars, sent digit for digit: `'12.50'` arrives as the number
     *     12.50. A float is sent with the fewest digits that give it back.
     * @param array<string, mixed> $more further top-level fields by their names on the wire; the service keeps
     *     them
     * @throws MisconfiguredException when the cost is not a number
     */
    public function __construct(
        #[\SensitiveParameter] public readonly ?string $firstName = null,
        #[\SensitiveParameter] public readonly ?string $lastName = null,
        #[\SensitiveParameter] public readonly ?string $phone = null,
        #[\SensitiveParameter] public readonly ?string $email = null,
        #[\SensitiveParameter] public readonly ?string $streetAddress = null,
        #[\SensitiveParameter] public readonly ?string $city = null,
        #[\SensitiveParameter] public readonly ?string $state = null,
        #[\SensitiveParameter] public readonly ?string $zip = null,
        #[\SensitiveParameter] public readonly ?string $country = null,
        #[\SensitiveParameter] public readonly ?string $projectArea = null,
        #[\SensitiveParameter] public readonly ?string $projectService = null,
        #[\SensitiveParameter] public readonly ?string $projectMaterial = null,
        #[\SensitiveParameter] public readonly ?string $projectDetails = null,
        #[\SensitiveParameter] public readonly ?string $externalId = null,
        #[\SensitiveParameter] Decimal|string|int|float|null $cost = null,
        #[\SensitiveParameter] public readonly array $more = [],
    ) {
        $this->cost = match (true) {
            $cost === null, $cost instanceof Decimal => $cost,
            is_string($cost) => new Decimal($cost),
            default => new Decimal(Internal\Json::encode($cost)),
        };
    }

    /** @return array<string, mixed> the fields by their names on the wire, without those that are null */
    public function toArray(): array
    {
        $fields = array_combine(self::FIELDS, [
            $this->firstName,
            $this->lastName,
            $this->phone,
            $this->email,
            $this->streetAddress,
            $this->city,
            $this->state,
            $this->zip,
            $this->country,
            $this->projectArea,
            $this->projectService,
            $this->projectMaterial,
            $this->projectDetails,
            $this->externalId,
            $this->cost,
        ]);
        return array_filter($fields, static fn (mixed $value): bool => $value !== null) + $this->more;
    }

    /** What `json_encode` writes: the fields by their names on the wire, the cost as Decimal says. */
    public function jsonSerialize(): object
    {
        return (object) $this->toArray();
    }

    /** @return array<string, string> what `var_dump` and `print_r` show: a lead is a person's data */
    public function __debugInfo(): array
    {
        return ['lead' => '(hidden)'];
    }
}
