// What a caller does with the client that oapi-codegen makes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"clients/intake"
)

type object map[string]any

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func keyed(url, key string) *intake.ClientWithResponses {
	return must(intake.NewClientWithResponses(url, intake.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("X-API-Key", key)
			return nil
		})))
}

func acknowledged(found *intake.Acknowledgement, body []byte) object {
	if found == nil {
		must(0, fmt.Errorf("the lead was not accepted: %s", body))
	}
	return object{
		"event_id":    found.EventId,
		"status":      found.Status,
		"received_at": found.ReceivedAt.UnixMilli(),
		"source":      found.Source,
		"flags":       found.Flags,
	}
}

func refused(found *intake.ErrorBody, answer *http.Response) object {
	if found == nil {
		must(0, fmt.Errorf("there is no error, but %s", answer.Status))
	}
	fields := map[string]string{}
	if found.Fields != nil {
		fields = *found.Fields
	}
	isNamed := found.RequestId != nil && *found.RequestId == answer.Header.Get("X-Request-Id")
	return object{"http": answer.StatusCode, "error": found.Error, "is_named": isNamed, "fields": fields}
}

func main() {
	ctx := context.Background()
	client := keyed(os.Getenv("INTAKE_URL"), os.Getenv("LEADS_API_KEY"))
	forms := keyed(os.Getenv("FORMS_URL"), os.Getenv("FORMS_API_KEY"))
	subscription := must(intake.NewClientWithResponses(os.Getenv("SUBSCRIPTION_URL")))

	country, area, service, cost := "GB", "Wine Cellar", "Remodel", float32(12.5)
	lead := intake.Lead{
		FirstName:      "Ada",
		LastName:       "Lovelace",
		Phone:          "+44 20 7946 0123",
		Country:        &country,
		ProjectArea:    &area,
		ProjectService: &service,
		Cost:           &cost,
	}
	key := os.Getenv("IDEMPOTENCY_KEY")
	once := &intake.PostLeadParams{IdempotencyKey: &key}
	none := &intake.PostLeadParams{}
	accepted := must(client.PostLeadWithResponse(ctx, once, lead))
	repeated := must(client.PostLeadWithResponse(ctx, once, lead))
	tooMuch := float32(1000)
	blank := must(client.PostLeadWithResponse(ctx, none, intake.Lead{
		FirstName: "Ada", LastName: " ", Phone: "(555) 123-4567", Cost: &tooMuch,
	}))
	stranger := must(keyed(os.Getenv("INTAKE_URL"), "mistyped").PostLeadWithResponse(ctx, none, lead))
	vocabulary := must(client.GetVocabularyWithResponse(ctx, &intake.GetVocabularyParams{})).JSON200
	areas := 0
	for _, term := range vocabulary.ProjectArea {
		if term.Status == "confirmed" {
			areas++
		}
	}

	submit := func(body intake.Submission) *intake.SubmitFormResponse {
		tenant, form := os.Getenv("TENANT"), os.Getenv("FORM_KEY")
		return must(forms.SubmitFormWithResponse(ctx, tenant, form, &intake.SubmitFormParams{}, body))
	}
	visitor := intake.Submission{
		"name": "Grace Hopper", "email": "grace@example.com", "visits": 3, "message": key,
	}
	submitted, again := submit(visitor), submit(visitor)
	missing := submit(intake.Submission{})
	plans := [][]any{}
	for _, plan := range *must(subscription.GetPlansWithResponse(ctx, &intake.GetPlansParams{})).JSON200 {
		plans = append(plans, []any{plan.Slug, plan.AmountCents, plan.Interval, plan.Items[0].Title})
	}

	fmt.Println(string(must(json.Marshal(object{
		"accepted":     acknowledged(accepted.JSON202, accepted.Body),
		"repeated":     acknowledged(repeated.JSON200, repeated.Body),
		"refused":      refused(blank.JSON422, blank.HTTPResponse),
		"unauthorized": refused(stranger.JSON401, stranger.HTTPResponse),
		"areas":        areas,
		"services":     vocabulary.ProjectService,
		"is_well":      must(client.GetHealthWithResponse(ctx)).JSON200.Ok,
		"submitted":    []any{submitted.JSON202.Status, again.JSON200.Status},
		"is_same":      submitted.JSON202.SubmissionId == again.JSON200.SubmissionId,
		"missing":      refused(missing.JSON400, missing.HTTPResponse),
		"plans":        plans,
	}))))
}
