# frozen_string_literal: true

# The gem's name is not the library's: this is for Bundler, which requires a gem by its name.
require_relative "leads"
