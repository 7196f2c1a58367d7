/**
 * Posts sales leads to the Lead Intake Service, each with one HTTPS call.
 *
 * <p>{@link example.leads.LeadsClient} is where to begin; every failure is a {@link
 * example.leads.LeadsException}.
 */
package example.leads;
