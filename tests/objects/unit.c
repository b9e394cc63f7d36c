/* What the linker's test links: code that calls and refers to functions and variables, its own,
 * other objects' and common ones. It is compiled for both architectures, with and without a table
 * of addresses. */
extern long outside(long number);
extern long outside_variable;
long common_variable[4];
static long counter = 5;
static long zeroed[3];
static const char text[] = "read only";
long (*pointer)(long) = outside;
const char *pointer_to_text = text + 5;

__attribute__((noinline)) static long twice(long number) {
    return 2 * number;
}

unsigned char byte_variable = 7;
unsigned short short_variable = 700;
unsigned int_variable = 70000;

long entry(long number);

long entry(long number) {
    common_variable[1] += number;
    zeroed[2] = common_variable[1] + 1;
    counter++;
    outside_variable += 100;
    return outside(number) + pointer(twice(number)) + counter + zeroed[2] +
           (long)pointer_to_text[0] + text[number % 3] + byte_variable + short_variable +
           (long)int_variable;
}
