/** A full lead, and its person; a test adds what its CRM stores besides. */

export const lovelace = {
  first_name: "Ada",
  last_name: "Lovelace",
  phone: "+15125550123",
  email: "ada@example.com",
  street_address: "12 Analytical Way",
  city: "Austin",
  state: "TX",
  zip: "78701",
  country: "US",
};

export const fullLead = {
  ...lovelace,
  project_area: "kitchen",
  project_service: "remodel",
  project_details: 'An island, 3" < 4" & tiles',
};
