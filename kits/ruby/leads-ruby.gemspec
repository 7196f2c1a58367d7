# frozen_string_literal: true

require_relative "lib/leads/version"

Gem::Specification.new do |spec|
  spec.name = "leads-ruby"
  spec.version = Leads::VERSION
  spec.summary = "Posts sales leads to the Lead Intake Service"
  spec.description = "Checks the key, posts a lead with an idempotency key, retries only what may be retried, " \
                     "and reads the vocabulary. Built on net/http; for threads."
  spec.authors = ["The Lead Intake Service authors"]
  spec.homepage = "https://leads.example"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.0"
  spec.metadata = { "rubygems_mfa_required" => "true" }
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "sig/*.rbs", "examples/*.rb", "LICENSE", "README.md"].sort }
  spec.require_paths = ["lib"]
  # A part of Ruby; since 3.4 Bundler finds it only where it is named.
  spec.add_dependency "bigdecimal", ">= 3.0", "< 5"
end
