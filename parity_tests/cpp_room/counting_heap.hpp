// Counts what a program asks of the heap. Included by one file of a program: it replaces the program's operators.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

static std::atomic<long> allocations{0};

// Not inlined: g++ would see `free` of what came from `new`, and not that this `new` is malloc.
__attribute__((noinline)) static void give_back(void* memory) { std::free(memory); }

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size)) return memory;
    std::abort();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    ++allocations;
    return std::malloc(size);
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept { return operator new(size, tag); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
