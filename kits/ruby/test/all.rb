# frozen_string_literal: true

Dir[File.join(__dir__, "*_test.rb")].each { |file| require file }
