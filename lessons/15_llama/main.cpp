// Lesson 15.
int main() {}
