<?php

declare(strict_types=1);

namespace Leads\Tests;

use PHPUnit\Framework\TestCase;

/** Everything public says what it does. */
final class DocumentationTest extends TestCase
{
    /** @return iterable<string, array{\ReflectionClass<object>}> */
    public function classes(): iterable
    {
        $files = (array) glob(__DIR__ . '/../src/*.php');
        self::assertNotEmpty($files);
        foreach ($files as $file) {
            $name = basename((string) $file, '.php');
            yield $name => [new \ReflectionClass('Leads\\' . $name)];
        }
    }

    /**
     * @dataProvider classes
     * @param \ReflectionClass<object> $class
     */
    public function testClassMethodsConstantsAndCasesHaveADocComment(\ReflectionClass $class): void
    {
        self::assertNotFalse($class->getDocComment(), $class->getName());
        foreach ([$class->getReflectionConstants(), $class->getMethods()] as $members) {
            foreach ($members as $member) {
                $ours = $member->getDeclaringClass()->getName() === $class->getName();
                $inherited = $member instanceof \ReflectionMethod
                    && ($member->hasPrototype() || $member->isInternal() || str_starts_with($member->name, '__toS'));
                if ($ours && $member->isPublic() && !$inherited) {
                    self::assertNotFalse($member->getDocComment(), "{$class->getName()}::{$member->getName()}");
                }
            }
        }
    }

    /**
     * @dataProvider classes
     * @param \ReflectionClass<object> $class
     */
    public function testWhatIsNotMeantToBeExtendedCannotBe(\ReflectionClass $class): void
    {
        self::assertTrue($class->isFinal() || $class->isInterface() || $class->isAbstract());
    }
}
