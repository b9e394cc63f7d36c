/* Checks of JUnit reports. */
#ifndef ECLAVE_TESTS_SUPPORT_JUNIT_H
#define ECLAVE_TESTS_SUPPORT_JUNIT_H

/* The report in the file PATH is valid for the schema of Jenkins' xUnit plugin. */
void junit_expect_valid(const char *path);
/* EXPRESSION, XPath, has this VALUE in the report, up to its first newline. */
void junit_expect(const char *path, const char *expression, const char *value);

#endif
